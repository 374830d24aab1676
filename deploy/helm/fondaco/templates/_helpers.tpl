{{/* Names of a release. */}}
{{- define "fondaco.name" -}}
{{- if contains "fondaco" .Release.Name }}{{ .Release.Name }}{{ else }}{{ .Release.Name }}-fondaco{{ end }}
{{- end }}

{{- define "fondaco.secret" -}}
{{- .Values.secret.existing | default (include "fondaco.name" .) }}
{{- end }}

{{/* Labels that select the pods of a component; takes a dict with root and component. */}}
{{- define "fondaco.selector" -}}
app.kubernetes.io/name: fondaco
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{/* Labels of an object. */}}
{{- define "fondaco.labels" -}}
{{ include "fondaco.selector" . }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ .root.Chart.Name }}-{{ .root.Chart.Version }}
{{- end }}

{{/* The security contexts of the restricted Pod Security Standard. Takes the id of a user. */}}
{{- define "fondaco.podSecurity" -}}
runAsNonRoot: true
runAsUser: {{ . }}
runAsGroup: {{ . }}
seccompProfile: {type: RuntimeDefault}
{{- end }}

{{- define "fondaco.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end }}

{{/* Refuses values without which the hosts cannot work. */}}
{{- define "fondaco.check" -}}
{{- $own := not .Values.secret.existing }}
{{- if not .Values.image }}{{ fail "image: want the image of deploy/docker/Dockerfile in a registry of yours" }}{{ end }}
{{- if not .Values.url }}{{ fail "url: want the URL of the hosts for clients, such as https://mcp.example.com" }}{{ end }}
{{- if not .Values.proxies }}{{ fail "proxies: want the networks of what forwards requests, such as [10.0.0.0/8]" }}{{ end }}
{{- if not .Values.ingressFrom }}{{ fail "ingressFrom: want peers of a NetworkPolicy, the pods of the proxies" }}{{ end }}
{{- if not .Values.config }}{{ fail "config: want the configuration of the host, such as {mcpServers: {…}}" }}{{ end }}
{{- if and $own (not .Values.secret.keys) }}{{ fail "secret.keys: want the output of \"openssl rand -base64 32\", or secret.existing" }}{{ end }}
{{- if and $own (not .Values.auth.issuer) (not .Values.secret.tokens) }}{{ fail "secret.tokens: want lines of NAME:TOKEN, or auth.issuer or secret.existing" }}{{ end }}
{{- if and $own (not .Values.engine.bundled) (not .Values.secret.store) }}{{ fail "secret.store: want the URL of an engine, or engine.bundled or secret.existing" }}{{ end }}
{{- if and (not $own) .Values.engine.bundled }}{{ fail "engine.bundled: the member store of secret.existing names the engine; want one of them" }}{{ end }}
{{- end }}
