module schema

go 1.22
