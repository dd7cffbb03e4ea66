{{- define "pgsluice.name" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{ .Release.Name | trunc 63 | trimSuffix "-" }}
{{- else -}}
{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 63 | trimSuffix "-" }}
{{- end -}}
{{- end -}}

{{- define "pgsluice.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "pgsluice.labels" -}}
{{ include "pgsluice.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/component: pooler
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end -}}

{{/* A value of a connection string. */}}
{{- define "pgsluice.quoted" -}}
'{{ . | toString | replace "'" "''" }}'
{{- end -}}

{{/* A setting: numbers as they are, and not as 1e+06; false is 0. */}}
{{- define "pgsluice.plain" -}}
{{- if kindIs "float64" . -}}{{ . | int64 }}
{{- else if kindIs "bool" . -}}{{ ternary 1 0 . }}
{{- else -}}{{ . }}
{{- end -}}
{{- end -}}

{{/* "yes" if the file has a password: then it is a Secret. */}}
{{- define "pgsluice.secret" -}}
{{- range .Values.config.pgbouncer -}}
{{- if contains "ldapbindpasswd" (toString .) }}yes{{ end -}}
{{- end -}}
{{- range .Values.config.databases -}}
{{- if kindIs "map" . }}{{ if hasKey . "password" }}yes{{ end }}
{{- else if contains "password" . }}yes{{ end -}}
{{- end -}}
{{- end -}}

{{- define "pgsluice.settings" -}}
{{- $defaults := dict
    "listen_addr" "*" "listen_port" 6432 "unix_socket_dir" "/run/pgsluice"
    "auth_type" "scram-sha-256" "auth_file" "/etc/pgsluice/userlist.txt"
    "pool_mode" "transaction" "session_state" "keep" "max_client_conn" 1000
    "memory_limit" "auto" "query_wait_timeout" 30 "shutdown_grace" 5
    "http_listen_addr" "*" "http_listen_port" 9127
    "admin_users" .Values.config.adminUser -}}
{{- if .Values.config.authUser -}}
{{- $defaults = set $defaults "auth_user" .Values.config.authUser -}}
{{- end -}}
{{- merge (deepCopy .Values.config.pgbouncer) $defaults | toYaml -}}
{{- end -}}

{{- define "pgsluice.ini" -}}
[databases]
{{- range $name, $pairs := .Values.config.databases }}
{{ if eq $name "*" }}*{{ else }}{{ $name | replace "\"" "\"\"" | printf "\"%s\"" }}{{ end }} =
{{- if kindIs "map" $pairs }}
{{- range $key, $value := $pairs }} {{ $key }}={{ if kindIs "string" $value }}{{ include "pgsluice.quoted" $value }}{{ else }}{{ include "pgsluice.plain" $value }}{{ end }}{{ end }}
{{- else }} {{ $pairs }}
{{- end }}
{{- end }}

[pgbouncer]
{{- range $key, $value := include "pgsluice.settings" . | fromYaml }}
{{ $key }} = {{ include "pgsluice.plain" $value }}
{{- end }}
{{ end -}}

{{- define "pgsluice.user" -}}
"{{ index . 0 | replace "\"" "\"\"" }}" "{{ index . 1 | replace "\"" "\"\"" }}"
{{ end -}}

{{- define "pgsluice.users" -}}
{{- with .Values.config }}
{{- if .adminPassword }}{{ include "pgsluice.user" (list .adminUser .adminPassword) }}{{ end }}
{{- if .authUser }}{{ include "pgsluice.user" (list .authUser .authPassword) }}{{ end }}
{{- range $name, $password := .userlist }}{{ include "pgsluice.user" (list $name $password) }}{{ end }}
{{- end }}
{{- end -}}
