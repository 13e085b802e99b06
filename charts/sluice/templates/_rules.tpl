{{- /* Printed by chartgen from the tables in operator/src/rbac.rs and controlplane/src/server/kubernetes/rbac.rs. */ -}}
{{- define "sluice.rules.operator.cluster" }}
- apiGroups: ["storage.k8s.io"]
  resources: ["storageclasses"]
  verbs: ["list", "watch"]
{{- end }}
{{- define "sluice.rules.operator.watched" }}
- apiGroups: ["sluice.dev"]
  resources: ["organizations", "environments"]
  verbs: ["list", "patch", "watch"]
- apiGroups: ["sluice.dev"]
  resources: ["organizations/status", "environments/status", "apikeys/status"]
  verbs: ["patch"]
- apiGroups: ["sluice.dev"]
  resources: ["apikeys"]
  verbs: ["delete", "list", "patch", "watch"]
- apiGroups: [""]
  resources: ["configmaps", "persistentvolumeclaims", "serviceaccounts", "services"]
  verbs: ["create", "delete", "list", "patch", "watch"]
- apiGroups: [""]
  resources: ["pods"]
  verbs: ["list", "watch"]
- apiGroups: [""]
  resources: ["secrets"]
  verbs: ["create", "delete", "get", "list", "patch", "watch"]
- apiGroups: ["apps"]
  resources: ["deployments"]
  verbs: ["create", "delete", "list", "patch", "watch"]
- apiGroups: ["networking.k8s.io"]
  resources: ["networkpolicies"]
  verbs: ["create", "delete", "list", "patch", "watch"]
- apiGroups: ["policy"]
  resources: ["poddisruptionbudgets"]
  verbs: ["create", "delete", "list", "patch", "watch"]
- apiGroups: ["cert-manager.io"]
  resources: ["certificates"]
  verbs: ["create", "delete", "list", "patch", "watch"]
- apiGroups: ["snapshot.storage.k8s.io"]
  resources: ["volumesnapshots"]
  verbs: ["create", "list", "patch", "watch"]
- apiGroups: ["events.k8s.io"]
  resources: ["events"]
  verbs: ["create", "patch"]
{{- end }}
{{- define "sluice.rules.operator.release" }}
- apiGroups: [""]
  resources: ["secrets"]
  verbs: ["create", "get", "list", "patch", "watch"]
- apiGroups: ["coordination.k8s.io"]
  resources: ["leases"]
  verbs: ["create", "list", "update", "watch"]
{{- end }}
{{- define "sluice.rules.controlplane.cluster" }}
{{- end }}
{{- define "sluice.rules.controlplane.watched" }}
- apiGroups: ["sluice.dev"]
  resources: ["organizations"]
  verbs: ["create", "get", "list", "patch", "watch"]
- apiGroups: ["sluice.dev"]
  resources: ["environments"]
  verbs: ["create", "delete", "get", "list", "patch", "watch"]
- apiGroups: ["sluice.dev"]
  resources: ["apikeys"]
  verbs: ["create", "get", "list", "patch"]
{{- end }}
{{- define "sluice.rules.controlplane.release" }}
{{- end }}
