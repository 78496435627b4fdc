{{/* One release of the chart is one network: its name begins every object. */}}
{{- define "chancery.name" -}}
{{ printf "%s-%s" .root.Release.Name .part | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "chancery.selector" -}}
app.kubernetes.io/name: {{ .root.Chart.Name }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .part }}
{{- end }}

{{- define "chancery.labels" -}}
{{ include "chancery.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
{{- end }}

{{- define "chancery.image" -}}
{{ printf "%s@%s" .Values.image.repository (required "image.digest must be given: a tag can move" .Values.image.digest) }}
{{- end }}

{{/* What both workloads are, beside their container: the restricted profile, spread over machines, no cluster access. */}}
{{- define "chancery.pod" -}}
serviceAccountName: {{ include "chancery.name" . }}
automountServiceAccountToken: false
# The time to drain and the longest request, with some to spare.
terminationGracePeriodSeconds: 40
{{- with .root.Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  fsGroup: 10001
  seccompProfile: { type: RuntimeDefault }
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: kubernetes.io/hostname
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- include "chancery.selector" . | nindent 8 }}
{{- end }}

{{- define "chancery.containerSecurity" -}}
readOnlyRootFilesystem: true
allowPrivilegeEscalation: false
capabilities: { drop: [ALL] }
{{- end }}

{{/* A service account without rights, a service, and a budget: one replica always serves. */}}
{{- define "chancery.around" -}}
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ include "chancery.name" . }}
  labels:
    {{- include "chancery.labels" . | nindent 4 }}
# Nothing here talks to the cluster.
automountServiceAccountToken: false
---
apiVersion: v1
kind: Service
metadata:
  name: {{ include "chancery.name" . }}
  labels:
    {{- include "chancery.labels" . | nindent 4 }}
spec:
  selector:
    {{- include "chancery.selector" . | nindent 4 }}
  ports: [{ name: http, port: {{ .port }}, targetPort: http }]
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ include "chancery.name" . }}
  labels:
    {{- include "chancery.labels" . | nindent 4 }}
spec:
  minAvailable: 1
  selector:
    matchLabels:
      {{- include "chancery.selector" . | nindent 6 }}
{{- end }}

{{/* The variables of docs/operate/traces.md; nothing without a collector. */}}
{{- define "chancery.traces" -}}
{{- if .root.Values.traces.endpoint -}}
- name: NODE_OPTIONS
  value: --disable-proto=throw --import /app/packages/telemetry/dist/register.js
- name: OTEL_EXPORTER_OTLP_ENDPOINT
  value: {{ .root.Values.traces.endpoint | quote }}
- name: OTEL_TRACES_SAMPLER_ARG
  value: {{ .root.Values.traces.ratio | quote }}
- name: OTEL_SERVICE_NAME
  value: {{ include "chancery.name" . }}
{{- end }}
{{- end }}

{{- define "chancery.claim" -}}
metadata:
  name: {{ .name }}
spec:
  accessModes: [ReadWriteOnce]
  {{- with .volume.storageClass }}
  storageClassName: {{ . }}
  {{- end }}
  resources:
    requests:
      storage: {{ .volume.size }}
{{- end }}
