# console.pl - the admin console by DBD::Pg: perl console.pl PORT
# SPDX-License-Identifier: ISC
use strict;
use warnings;
use DBI;

my $db = DBI->connect("dbi:Pg:host=127.0.0.1;port=$ARGV[0];dbname=pgbouncer",
    'admin', 'adminpw', { RaiseError => 1, PrintError => 0 });
for my $prepare (0, 1, 2) {
	$db->{pg_server_prepare} = $prepare;
	for (1 .. 5) {
		my $rows = $db->selectall_arrayref('SHOW DATABASES');
		die 'rows' unless $rows->[0][0] eq 'p0';
		my $one = $db->prepare(
		    'SELECT name FROM databases WHERE name = ?');
		$one->execute('p1');
		die 'one' unless $one->fetchrow_array() eq 'p1';
		$one->finish();
		eval { $db->do('NONSENSE') };
		die 'no error' unless $@ =~ /invalid command 'NONSENSE'/;
		die 'ping' unless $db->ping();
	}
}
$db->disconnect();
print "good\n";
