{{- /*
Roles and bindings of one component, from its printed rules (_rules.tpl): a kind without namespace
always needs a ClusterRole; the others are in it too when all namespaces are watched, and otherwise in
a Role of each. Takes (dict "root" $ "component" … ).
*/ -}}
{{- define "sluice.roles" -}}
{{- $account := printf "sluice-%s" .component -}}
{{- $namespace := .root.Release.Namespace -}}
{{- $labels := include "sluice.labels" . -}}
{{- $everywhere := empty .root.Values.watchNamespaces -}}
{{- $watched := include (printf "sluice.rules.%s.watched" .component) . | trim -}}
{{- /* by their names: nothing else of Secrets is the control plane's to read */}}
{{- if and (eq .component "controlplane") .root.Values.storageIntegrations.secrets }}
{{- $secrets := toJson .root.Values.storageIntegrations.secrets }}
{{- $watched = printf "%s\n- apiGroups: [\"\"]\n  resources: [\"secrets\"]\n  resourceNames: %s\n  verbs: [\"get\"]" $watched $secrets }}
{{- end }}
{{- $release := include (printf "sluice.rules.%s.release" .component) . | trim -}}
{{- $cluster := include (printf "sluice.rules.%s.cluster" .component) . | trim -}}
{{- if $everywhere }}{{ $cluster = printf "%s\n%s" $cluster $watched | trim }}{{ end -}}
{{- /* installations that share a cluster each have their own */ -}}
{{- $clusterName := ternary $account (printf "%s-%s" $account $namespace) $everywhere }}
{{- if $cluster }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: {{ $clusterName }}
  labels:
    {{- $labels | nindent 4 }}
rules:
  {{- $cluster | nindent 2 }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: {{ $clusterName }}
  labels:
    {{- $labels | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: {{ $clusterName }}
subjects:
  - kind: ServiceAccount
    name: {{ $account }}
    namespace: {{ $namespace }}
{{- end }}
{{- $roles := list }}
{{- if $release }}{{ $roles = append $roles (dict "namespace" $namespace "name" (printf "%s-release" $account) "rules" $release) }}{{ end }}
{{- if $watched }}
{{- range .root.Values.watchNamespaces }}
{{- $roles = append $roles (dict "namespace" . "name" $account "rules" $watched) }}
{{- end }}
{{- end }}
{{- range $roles }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: {{ .name }}
  namespace: {{ .namespace }}
  labels:
    {{- $labels | nindent 4 }}
rules:
  {{- .rules | nindent 2 }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: {{ .name }}
  namespace: {{ .namespace }}
  labels:
    {{- $labels | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: {{ .name }}
subjects:
  - kind: ServiceAccount
    name: {{ $account }}
    namespace: {{ $namespace }}
{{- end }}
{{- end }}
