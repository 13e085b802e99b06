{{- /*
Names and pieces that more than one object has. Objects are named `sluice-…` whatever the release is
called: operator, control plane and data planes find each other by name, so a namespace holds one
installation.
*/ -}}

{{- /* Labels that select: they never change. Takes (dict "component" …). */ -}}
{{- define "sluice.selector" -}}
app.kubernetes.io/name: sluice
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- /* Labels of an object. Takes (dict "root" $ "component" …). */ -}}
{{- define "sluice.labels" -}}
{{ include "sluice.selector" . }}
app.kubernetes.io/part-of: sluice
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- end }}

{{- /* An image without its tag. Takes (dict "root" $ "name" …). */ -}}
{{- define "sluice.repository" -}}
{{- with .root.Values.image.registry }}{{ . }}/{{ end }}{{ .name }}
{{- end }}

{{- define "sluice.tag" -}}
{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- /* The host that the control plane's Service has inside the cluster. */ -}}
{{- define "sluice.controlPlaneHost" -}}
sluice-controlplane.{{ .Release.Namespace }}.svc
{{- end }}

{{- define "sluice.publicUrl" -}}
{{- if .Values.controlPlane.publicUrl -}}
{{ .Values.controlPlane.publicUrl }}
{{- else if and .Values.ingress.enabled .Values.ingress.host -}}
{{ ternary "https" "http" (ne .Values.ingress.tlsSecret "") }}://{{ .Values.ingress.host }}
{{- else -}}
http://{{ include "sluice.controlPlaneHost" . }}:8080
{{- end -}}
{{- end }}

{{- /* The Secret with the database's URL. */ -}}
{{- define "sluice.databaseSecret" -}}
{{- if .Values.controlPlane.database.url }}sluice-database-url{{ else }}{{ .Values.controlPlane.database.existingSecret }}{{ end }}
{{- end }}
{{- define "sluice.databaseKey" -}}
{{- if .Values.controlPlane.database.url }}url{{ else }}{{ .Values.controlPlane.database.key }}{{ end }}
{{- end }}
