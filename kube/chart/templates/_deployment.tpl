{{/*
The Deployment of a part. Takes a dictionary: root, part (its name), container, account, args, resources, and token
(whether it has the Linode API token).
*/}}
{{- define "lkeplan.deployment" -}}
{{- $v := .root.Values -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .part }}
  namespace: {{ .root.Release.Namespace | quote }}
  labels:
    {{- include "lkeplan.labels" . | nindent 4 }}
  {{- with $v.additionalAnnotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  replicas: {{ .replicas | int64 }} # one is active; a standby takes over its lease within seconds
  strategy: {rollingUpdate: {maxUnavailable: 1}}
  selector:
    matchLabels: {app.kubernetes.io/name: {{ .part }}}
  template:
    metadata:
      labels:
        {{- include "lkeplan.labels" (dict "root" .root "part" .part "more" (list $v.podLabels)) | nindent 8 }}
      {{- if or $v.podAnnotations (and .token $v.apiToken) }}
      annotations:
        {{- if and .token $v.apiToken }}
        lkeplan.dev/token: {{ printf "%s %s" .root.Release.Name $v.apiToken | sha256sum | trunc 16 | quote }} # a new token restarts the pods
        {{- end }}
        {{- with $v.podAnnotations }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      {{- end }}
    spec:
      serviceAccountName: {{ .account | quote }}
      {{- with $v.imagePullSecrets }}
      imagePullSecrets:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $v.priorityClassName }}
      priorityClassName: {{ . | quote }}
      {{- end }}
      {{- if $v.hostNetwork }}
      hostNetwork: true
      {{- end }}
      {{- with $v.dnsPolicy }}
      dnsPolicy: {{ . | quote }}
      {{- end }}
      {{- with $v.nodeSelector }}
      nodeSelector:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $v.tolerations }}
      tolerations:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $v.affinity }}
      # It does not run on nodes that it manages: without the controller there are no new ones.
      affinity:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $v.topologySpreadConstraints }}
      topologySpreadConstraints:
        {{- include "lkeplan.selecting" (dict "terms" . "part" $.part) | nindent 8 }}
      {{- end }}
      # The seccomp profile lets a child process restrict itself with Landlock.
      securityContext:
        {{- toYaml $v.podSecurityContext | nindent 8 }}
      containers:
        - name: {{ .container }}
          image: {{ include "lkeplan.image" .root | quote }}
          imagePullPolicy: {{ $v.imagePullPolicy | quote }}
          args:
            {{- range .args }}
            - {{ . | quote }}
            {{- end }}
          env:
            - {name: CLUSTER_NAME, value: {{ $v.settings.clusterName | quote }}}
            {{- if .token }}
            - name: LINODE_TOKEN
              valueFrom: {secretKeyRef: {name: {{ include "lkeplan.secret" .root | quote }}, key: LINODE_TOKEN}}
            {{- with $v.settings.clusterID }}
            - {name: LKE_CLUSTER_ID, value: {{ kindIs "string" . | ternary . (int64 .) | quote }}}
            {{- end }}
            {{- with $v.region }}
            - {name: LINODE_REGION, value: {{ . | quote }}}
            {{- end }}
            {{- if include "lkeplan.instances" .root }}
            - {name: KARPENTER_MODE, value: "instance"}
            {{- with $v.settings.clusterEndpoint }}
            - {name: CLUSTER_ENDPOINT, value: {{ . | quote }}}
            {{- end }}
            {{- end }}
            {{- end }}
            {{- if $v.apiURL }}
            - {name: LINODE_URL, value: {{ $v.apiURL | quote }}}
            {{- else if .token }}
            - name: LINODE_URL
              valueFrom: {secretKeyRef: {name: {{ include "lkeplan.secret" .root | quote }}, key: LINODE_URL, optional: true}}
            {{- end }}
            {{- with include "lkeplan.env" (dict "terms" $v.controller.env "token" .token) }}
            {{- . | nindent 12 }}
            {{- end }}
          {{- with include "lkeplan.env" (dict "terms" $v.controller.envFrom "token" .token) }}
          envFrom:
            {{- . | nindent 12 }}
          {{- end }}
          ports:
            - {name: metrics, containerPort: {{ $v.controller.metrics.port | int64 }}}
            - {name: probes, containerPort: {{ $v.controller.healthProbe.port | int64 }}}
          livenessProbe: {httpGet: {path: /healthz, port: probes}}
          readinessProbe: {httpGet: {path: /readyz, port: probes}}
          resources:
            {{- toYaml .resources | nindent 12 }}
          securityContext:
            allowPrivilegeEscalation: false
            readOnlyRootFilesystem: true
            capabilities: {drop: [ALL]}
          volumeMounts:
            - {name: tmp, mountPath: /tmp}
            {{- with $v.controller.extraVolumeMounts }}
            {{- toYaml . | nindent 12 }}
            {{- end }}
      volumes:
        - name: tmp
          emptyDir: {sizeLimit: 1Gi}
        {{- with $v.extraVolumes }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
{{- end }}

{{/* Flags of both controllers. */}}
{{- define "lkeplan.commonArgs" -}}
{{- $args := list -}}
{{- if ne .Values.logLevel "info" }}{{ $args = append $args (printf "--log-level=%s" .Values.logLevel) }}{{ end -}}
{{- if ne .Values.logFormat "json" }}{{ $args = append $args (printf "--log-format=%s" .Values.logFormat) }}{{ end -}}
{{- with .Values.controller -}}
{{- if ne (int .metrics.port) 8080 }}{{ $args = append $args (printf "--metrics-bind-address=:%d" (int .metrics.port)) }}{{ end -}}
{{- if ne (int .healthProbe.port) 8081 }}{{ $args = append $args (printf "--health-probe-bind-address=:%d" (int .healthProbe.port)) }}{{ end -}}
{{- end -}}
{{ toJson $args }}
{{- end }}

{{/* Flags of the capacity controller. */}}
{{- define "lkeplan.capacityArgs" -}}
{{- $args := list -}}
{{- with .Values.settings -}}
{{- with .batchIdleDuration }}{{ $args = append $args (printf "--batch-idle-duration=%s" .) }}{{ end -}}
{{- with .batchMaxDuration }}{{ $args = append $args (printf "--batch-max-duration=%s" .) }}{{ end -}}
{{- if ne (int .maxReplacements) 5 }}{{ $args = append $args (printf "--max-replacements=%d" (int .maxReplacements)) }}{{ end -}}
{{- if .featureGates.nodeOverlay }}{{ $args = append $args "--feature-gates=NodeOverlay" }}{{ end -}}
{{- range $gate := list "CapacityBuffer" "NodeRepair" "StaticCapacity" -}}
{{- if not (index $.Values.settings.featureGates (untitle $gate)) }}{{ $args = append $args (printf "--feature-gates=%s=false" $gate) }}{{ end -}}
{{- end -}}
{{- end -}}
{{- if .Values.policies.nodeAdmission }}{{ $args = append $args "--node-admission-params=kube-system/lkeplan-pools" }}{{ end -}}
{{ toJson $args }}
{{- end }}

{{/* Flags of the GitOps controller. */}}
{{- define "lkeplan.gitopsArgs" -}}
{{- $args := list -}}
{{- with .Values.gitops -}}
{{- with .defaultServiceAccount }}{{ $args = append $args (printf "--default-service-account=%s" .) }}{{ end -}}
{{- if not .crossNamespaceRefs }}{{ $args = append $args "--no-cross-namespace-refs" }}{{ end -}}
{{- with .eventsAddr }}{{ $args = append $args (printf "--events-addr=%s" .) }}{{ end -}}
{{- if ne (int .concurrent) 12 }}{{ $args = append $args (printf "--concurrent=%d" (int .concurrent)) }}{{ end -}}
{{- end -}}
{{ toJson $args }}
{{- end }}
