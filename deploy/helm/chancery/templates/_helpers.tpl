{{/*
One release of the chart is one network. Every object name starts with the release name. Names are not cut: two network
policies with the same name would be one, and the pods of the other open.
*/}}
{{- define "chancery.name" -}}
{{- $release := .root.Release.Name }}
{{- $short := ternary $release "" (eq $release (trunc 36 $release)) }}
{{- printf "%s-%s" (required "the release name must have at most 36 characters" $short) .part }}
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

{{- define "chancery.user" }}
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
{{- end }}

{{/* The machines that pods may run on. */}}
{{- define "chancery.place" }}
{{- with .nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* Volumes that the operator adds, and where they are mounted. */}}
{{- define "chancery.moreVolumes" }}
{{- with .extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "chancery.moreMounts" }}
{{- with .extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* The pod settings of both workloads: restricted profile, spread over machines, no access to the cluster API. */}}
{{- define "chancery.pod" -}}
serviceAccountName: {{ include "chancery.name" . }}
automountServiceAccountToken: false
# The cluster sets environment variables for services that look like settings: NA_AUTHORITY_PORT for a release «na».
enableServiceLinks: false
# Longer than the drain time plus the longest request.
terminationGracePeriodSeconds: 40
{{- include "chancery.user" . }}
{{- include "chancery.place" .own }}
{{- with .own.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: topology.kubernetes.io/zone
    whenUnsatisfiable: {{ .root.Values.zoneSpread }}
    labelSelector:
      matchLabels:
        {{- include "chancery.selector" . | nindent 8 }}
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

{{/* A service account without rights, a service, and a disruption budget of one available replica. */}}
{{- define "chancery.around" -}}
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ include "chancery.name" . }}
  labels:
    {{- include "chancery.labels" . | nindent 4 }}
  {{- with .own.serviceAccountAnnotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
# The pods do not use the cluster API.
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
  ports:
    - { name: http, port: {{ .port }}, targetPort: http }
    {{- if eq .part "authority" }}
    # The network policy admits only the monitoring.
    - { name: management, port: 9464, targetPort: management }
    {{- end }}
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

{{- define "chancery.authorityEnv" -}}
{{- range $name, $value := .root.Values.authority.settings }}
- name: {{ $name }}
  value: {{ $value | quote }}
{{- end }}
{{- end }}

{{- define "chancery.gatewayEnv" -}}
- { name: GATEWAY_ADDR, value: '0.0.0.0:8080' }
- { name: GATEWAY_POLICY_FILE, value: /etc/chancery/policy.json }
- { name: GATEWAY_STATE_FILE, value: /var/lib/chancery/gateway.state }
{{- range $name, $value := .root.Values.gateway.settings }}
- name: {{ $name }}
  value: {{ $value | quote }}
{{- end }}
{{- end }}

{{/* The variables of docs/operate/monitoring.md. Empty without a collector. */}}
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

{{/* Both workloads are StatefulSets. With an autoscaler the StatefulSet sets no number of replicas. */}}
{{- define "chancery.autoscaler" -}}
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata:
  name: {{ include "chancery.name" . }}
  labels:
    {{- include "chancery.labels" . | nindent 4 }}
spec:
  scaleTargetRef: { apiVersion: apps/v1, kind: StatefulSet, name: {{ include "chancery.name" . }} }
  minReplicas: {{ .scale.minReplicas }}
  maxReplicas: {{ .scale.maxReplicas }}
  metrics:
    - type: Resource
      resource:
        name: cpu
        target: { type: Utilization, averageUtilization: {{ .scale.targetCpuPercent }} }
{{- end }}

{{- define "chancery.monitor" -}}
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata:
  name: {{ include "chancery.name" . }}
  labels:
    {{- include "chancery.labels" . | nindent 4 }}
    {{- with .root.Values.monitoring.labels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  selector:
    matchLabels:
      {{- include "chancery.selector" . | nindent 6 }}
{{- end }}

{{/* The pod settings of jobs, with the same restrictions as the workloads. */}}
{{- define "chancery.once" -}}
restartPolicy: Never
automountServiceAccountToken: false
enableServiceLinks: false
{{- with .account }}
serviceAccountName: {{ include "chancery.name" (dict "root" $.root "part" .) }}
{{- end }}
{{- include "chancery.user" . }}
{{- include "chancery.place" .own }}
{{- end }}

{{/* The peers of one rule: pods, and address ranges. A rule without peers would allow every address. */}}
{{- define "chancery.peers" -}}
{{- if or .namespaceLabels .podLabels -}}
- {{- with .namespaceLabels }}
  namespaceSelector:
    matchLabels:
      {{- toYaml . | nindent 6 }}
  {{- end }}
  {{- with .podLabels }}
  podSelector:
    matchLabels:
      {{- toYaml . | nindent 6 }}
  {{- end }}
{{ end }}
{{- range .cidrs }}
- ipBlock: { cidr: {{ . | quote }} }
{{ end }}
{{- end }}

{{/* Egress rules: the name service of the cluster, and each named destination. */}}
{{- define "chancery.egress" -}}
- to:
    {{- include "chancery.peers" .root.Values.networkPolicy.dns | trim | nindent 4 }}
  ports:
    - { port: 53, protocol: UDP }
    - { port: 53, protocol: TCP }
{{- range .destinations }}
# {{ .name }}
- to:
    {{- include "chancery.peers" . | trim | nindent 4 }}
  ports:
    {{- range .ports }}
    - { port: {{ . }}, protocol: TCP }
    {{- end }}
{{- end }}
{{- if and .traces .root.Values.traces.endpoint }}
# collector
- to:
    {{- include "chancery.peers" .root.Values.traces | trim | nindent 4 }}
  ports:
    - { port: {{ .root.Values.traces.port }}, protocol: TCP }
{{- end }}
{{- end }}
