# The agent's image: glibc, Node, our JavaScript and the modules it needs; no shell, no compiler, no nft. For a runtime
# that speaks nothing but CNI, /app/dist/cni/sluice-cni is the plugin: one static file to be copied to the host. keepcaps
# starts an agent that is not root (docs/security.md), and is of no use to a container without NET_ADMIN and NET_RAW.
#   docker build -t sluice:0.1.0 .
#   docker buildx build --platform linux/amd64,linux/arm64 -t REGISTRY/sluice:0.1.0 --push .
# test/cluster/image/dockerfile.ts executes this file where there is no docker.
ARG BUILD_BASE=node:24-bookworm-slim
ARG BASE=gcr.io/distroless/cc-debian12

# Nothing of another platform is run here: it is compiled and installed for it. Without BuildKit nobody says which platform
# builds: "linux" is the machine's own, whatever its processor, and the image is for that.
FROM --platform=${BUILDPLATFORM:-linux} ${BUILD_BASE} AS build
ARG TARGETARCH
WORKDIR /build
RUN here=$(dpkg --print-architecture) && arch=${TARGETARCH:-$here} \
  && case $arch in amd64) cpu=x64 gnu=x86_64 ;; arm64) cpu=arm64 gnu=aarch64 ;; \
    *) echo "no image for $arch: amd64 and arm64 are what Node.js comes for here" >&2; exit 1 ;; esac \
  && echo "cpu=$cpu CC=$gnu-linux-gnu-gcc" >target \
  && if [ $arch = $here ]; then packages='libcap2-bin gcc libc6-dev'; else packages="libcap2-bin gcc-$(echo $gnu | tr _ -)-linux-gnu libc6-dev-$arch-cross"; fi \
  && { command -v $gnu-linux-gnu-gcc && command -v setcap \
    || { apt-get update -qq && apt-get install -y -qq --no-install-recommends $packages; }; }
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
# What runs, for the platform that it runs on.
RUN . ./target && mkdir -p /out/app && cp package.json package-lock.json /out/app/ && cd /out/app \
  && npm ci --ignore-scripts --omit=dev --os=linux --cpu=$cpu --libc=glibc --no-audit --no-fund --loglevel=error
COPY tsconfig.json tsconfig.build.json rolldown.agent.mjs ./
COPY src ./src
COPY scripts/thirdparty.ts ./scripts/
RUN . ./target && CC=$CC npm run compile && test -x dist/cni/sluice-cni && test -x dist/cni/keepcaps
# What only compilers read stays behind; what of others is in the image, and under which licence, comes along.
RUN node=$PWD/node_modules/.bin/node && thirdparty=$PWD/scripts/thirdparty.ts && cd /out/app \
  && $node $thirdparty notices . >NOTICES.txt \
  && npm pkg delete devDependencies && npm sbom --sbom-format=cyclonedx --loglevel=error >sbom.npm.json \
  && $node $thirdparty sbom <sbom.npm.json >sbom.cdx.json && rm sbom.npm.json package-lock.json \
  && find node_modules -type f \( -name '*.d.ts' -o -name '*.map' -o -name '*.md' \) -delete \
  && find node_modules -type d -empty -delete
# Whoever built this under a umask of their own, an agent that is not root can read it.
# Node is the one that package-lock.json names, so that the image runs what the tests ran. The final image has no
# `env`, which the command's first line asks for.
RUN mkdir -p /out/usr/local/bin \
  && sed -i '1s|.*|#!/usr/local/bin/node|' dist/cli/sluice.js && chmod 755 dist/cli/sluice.js \
  && mv /out/app/node_modules/node-linux-*/bin/node /out/usr/local/bin/node \
  && rm -r /out/app/node_modules/node-linux-* /out/app/node_modules/.bin \
  && mv dist/cni/keepcaps /out/usr/local/bin/ && mv dist /out/app/ && ln -s /app/dist/cli/sluice.js /out/usr/local/bin/sluice \
  && chmod -R u=rwX,go=rX /out && setcap cap_net_admin,cap_net_raw+ep /out/usr/local/bin/keepcaps

FROM ${BASE}
COPY --from=build /out /
WORKDIR /app
ENTRYPOINT ["/usr/local/bin/node", "dist/cli/main.js"]
