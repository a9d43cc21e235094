# Makes the images that the nodes import at their start, in $images; sourced by build.sh.
mkimage=$bin/mkimage
agnhost_files=$(go list -m -f '{{.Dir}}' k8s.io/kubernetes)/test/images/agnhost

"$mkimage" -o "$images/pause.tar" -names "$pause" -entrypoint /pause "$bin/pause=/pause"

# 2.45 is the name that the network-policy-api suite asks for; it wants a /bin/bash too.
"$mkimage" -o "$images/agnhost.tar" -names "$agnhost ${agnhost%:*}:2.45" -entrypoint /agnhost -cmd pause \
  "$bin/agnhost=/agnhost" =/tmp =/uploads \
  "$agnhost_files/porter/localhost.crt=/localhost.crt" "$agnhost_files/porter/localhost.key=/localhost.key" \
  /bin/bash-static=/bin/bash @bash=/bin/sh \
  /bin/busybox=/bin/busybox $(for c in cat ls nc ip ping ping6 sleep; do echo "@busybox=/bin/$c"; done)

"$mkimage" -o "$images/coredns.tar" -names registry.k8s.io/coredns/coredns:v1.14.7 -entrypoint /coredns "$bin/coredns=/coredns"

"$mkimage" -o "$images/ingress.tar" -names "$ingress" -entrypoint /skipper "$bin/skipper=/skipper"
