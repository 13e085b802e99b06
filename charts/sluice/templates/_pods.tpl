{{- /* What the pods of operator and control plane have in common; `restricted` admits all of it by default. */ -}}

{{- /* Metadata of a pod. Takes (dict "root" $ "component" … "pods" … "annotations" …). */ -}}
{{- define "sluice.pod.metadata" -}}
labels:
  {{- include "sluice.selector" . | nindent 2 }}
  {{- with .pods.labels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with merge (.annotations | default dict) .pods.annotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- /* Where a pod runs, and as whom. Takes (dict "root" $ "component" … "pods" …). */ -}}
{{- define "sluice.pod.placement" -}}
# settings are variables too, and a Service must not be taken for one
enableServiceLinks: false
{{- with .root.Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- with .pods.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .pods.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .pods.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .pods.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- $selector := include "sluice.selector" . }}
topologySpreadConstraints:
  {{- range list "topology.kubernetes.io/zone" "kubernetes.io/hostname" }}
  - maxSkew: 1
    topologyKey: {{ . }}
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- $selector | nindent 8 }}
  {{- end }}
{{- with .pods.securityContext }}
securityContext:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- /* As whom a container runs. Takes what a component's `pods` are. */ -}}
{{- define "sluice.container.security" -}}
{{- with .containerSecurityContext }}
securityContext:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- /*
Variables of a container: its own, and those of a value, which may name none of them again. Takes
(dict "own" <a list as YAML> "more" <the value> "named" <its name>).
*/ -}}
{{- define "sluice.env" -}}
{{- $names := dict }}
{{- range .own | fromYamlArray }}{{ $_ := set $names .name true }}{{ end }}
{{- $named := .named }}
{{- range .more }}
{{- if hasKey $names .name }}{{ fail (printf "%s: %s is set already" $named .name) }}{{ end }}
{{- $_ := set $names .name true }}
{{- end }}
{{- .own | trim }}
{{- with .more }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- /* An address to listen on with a port. Takes (dict "root" $ "port" …). */ -}}
{{- define "sluice.listen" -}}
{{- $address := .root.Values.listenAddress -}}
{{ ternary (printf "[%s]" $address) $address (contains ":" $address) }}:{{ .port }}
{{- end }}

{{- /* Where spans go, as variables of a container. */ -}}
{{- define "sluice.tracing" -}}
{{- with .Values.tracing.endpoint }}
- name: OTEL_EXPORTER_OTLP_ENDPOINT
  value: {{ . | quote }}
- name: SLUICE_TRACE_RATIO
  value: {{ $.Values.tracing.ratio | quote }}
{{- end }}
{{- end }}

{{- /* The key of the authority that a collector's certificate is of, if it is in a Secret. */ -}}
{{- define "sluice.collectorAuthority" -}}
{{- with .Values.tracing }}{{ if and .endpoint .existingSecret }}{{ .caKey }}{{ end }}{{ end }}
{{- end }}

{{- /* What a collector is shown and believed by, as variables of a container that sends spans itself. */ -}}
{{- define "sluice.collector" -}}
{{- with .Values.tracing }}
{{- if and .endpoint .existingSecret .headersKey }}
- name: OTEL_EXPORTER_OTLP_HEADERS
  valueFrom:
    secretKeyRef:
      name: {{ .existingSecret }}
      key: {{ .headersKey }}
{{- end }}
{{- end }}
{{- if include "sluice.collectorAuthority" . }}
- name: OTEL_EXPORTER_OTLP_CERTIFICATE
  value: /etc/sluice/collector/ca.crt
{{- end }}
{{- end }}

{{- /* The same for a container that tells others, by name. */ -}}
{{- define "sluice.collectorNamed" -}}
{{- with .Values.tracing }}
{{- if and .endpoint .existingSecret }}
- name: SLUICE_COLLECTOR_SECRET
  value: {{ .existingSecret }}
{{- with .headersKey }}
- name: SLUICE_COLLECTOR_HEADERS_KEY
  value: {{ . | quote }}
{{- end }}
{{- with .caKey }}
- name: SLUICE_COLLECTOR_CA_KEY
  value: {{ . | quote }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
