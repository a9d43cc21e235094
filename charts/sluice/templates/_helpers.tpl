{{- define "sluice.labels" -}}
app.kubernetes.io/name: sluice
{{- end }}

{{- define "sluice.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}
{{- end }}

{{- define "sluice.attaches" -}}
{{- if eq .Values.podNetwork.mode "attach" }}true{{ end }}
{{- end }}

{{/* Who is not root reaches neither the runtime's socket of NRI nor pods' network namespaces. */}}
{{- define "sluice.nonRoot" -}}
{{- if .Values.nonRoot -}}
{{- if ne .Values.startGate.mode "off" }}{{ fail "nonRoot: the runtime's socket is root's alone, so there is no start gate: set startGate.mode=off too, or leave nonRoot" }}{{ end -}}
{{- if ne .Values.podNetwork.mode "none" }}{{ fail "nonRoot: who is not root attaches no pods and installs no plugin: leave podNetwork.mode=none, or leave nonRoot" }}{{ end -}}
true
{{- end }}
{{- end }}

{{/* Another name for another kind: where manifests are merged, as server-side apply does, a volume has one. */}}
{{- define "sluice.socketVolume" -}}
{{ if include "sluice.nonRoot" . }}sockets{{ else }}run{{ end }}
{{- end }}

{{/* Only what differs from the agent's own defaults is on its command line. */}}
{{- define "sluice.args" -}}
- agent
- --node
- $(NODE_NAME)
{{- if ne .Values.logFormat "json" }}
- --log-format={{ .Values.logFormat }}
{{- end }}
{{- if ne .Values.logLevel "info" }}
- --log-level={{ .Values.logLevel }}
{{- end }}
{{- if ne .Values.liveConnections "cut" }}
- --live-connections={{ .Values.liveConnections }}
{{- end }}
{{- if ne (int .Values.denials.perSecond) 50 }}
- --denials={{ .Values.denials.perSecond }}
{{- end }}
{{- if ne .Values.denials.log "sampled" }}
- --log-denials={{ .Values.denials.log }}
{{- end }}
{{- if ne .Values.podTunnels "deny" }}
- --pod-tunnels={{ .Values.podTunnels }}
{{- end }}
{{- if .Values.countRules }}
- --count-rules
{{- end }}
{{- if ne (int .Values.metricsPort) 9910 }}
- --metrics-address=127.0.0.1:{{ .Values.metricsPort }}
{{- end }}
{{- with .Values.monitoring }}
{{- if .enabled }}
- --scrape-address={{ .address }}:{{ .port }}
- --scrape-tls-dir=/etc/sluice/tls
- --scrape-token-file=/etc/sluice/token/token
{{- end }}
{{- end }}
{{- if ne .Values.startGate.mode "auto" }}
- --start-gate={{ .Values.startGate.mode }}
{{- end }}
{{- if ne (int .Values.startGate.timeoutMs) 1500 }}
- --start-gate-timeout={{ .Values.startGate.timeoutMs }}
{{- end }}
{{- with .Values.unknownPods }}
- --unknown-pods={{ . }}
{{- end }}
{{- with .Values.dns.servers }}
- --dns-servers={{ join "," . }}
{{- end }}
{{- with .Values.dns.targetPorts }}
- --dns-target-ports={{ join "," . }}
{{- end }}
{{- if ne (int .Values.dns.floorSeconds) 120 }}
- --dns-floor={{ .Values.dns.floorSeconds }}
{{- end }}
{{- if ne .Values.podNetwork.mode "none" }}
- --pod-network={{ .Values.podNetwork.mode }}
- --cni-bin-dir=/opt/cni/bin
{{- end }}
{{- if include "sluice.attaches" . }}
- --cni-conf-dir=/etc/cni/net.d
{{- end }}
{{- range .Values.extraArgs }}
- {{ . | quote }}
{{- end }}
{{- end }}
