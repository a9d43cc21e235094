# The agent's image: glibc, Node, our JavaScript and the modules it needs; no shell, no compiler, no nft. For a runtime
# that speaks nothing but CNI, /app/dist/cni/sluice-cni is the plugin: one static file to be copied to the host.
#   docker build -t sluice:0.1.0 .
#   docker buildx build --platform linux/amd64,linux/arm64 -t REGISTRY/sluice:0.1.0 --push .
# test/cluster/image/dockerfile.ts executes this file where there is no docker.
ARG BUILD_BASE=node:24-bookworm-slim
ARG BASE=gcr.io/distroless/cc-debian12

FROM ${BUILD_BASE} AS build
WORKDIR /build
RUN command -v cc >/dev/null \
  || { apt-get update -qq && apt-get install -y -qq --no-install-recommends gcc libc6-dev; }
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
COPY tsconfig.json tsconfig.build.json rolldown.agent.mjs ./
COPY src ./src
COPY scripts/thirdparty.ts ./scripts/
RUN npm run compile && test -x dist/cni/sluice-cni
# What only compilers read stays behind; what of others is in the image, and under which licence, comes along.
RUN node_modules/.bin/node scripts/thirdparty.ts notices >NOTICES.txt \
  && npm sbom --sbom-format=cyclonedx --omit=dev --loglevel=error >sbom.npm.json \
  && node_modules/.bin/node scripts/thirdparty.ts sbom <sbom.npm.json >sbom.cdx.json \
  && npm prune --omit=dev --no-audit --no-fund --loglevel=error \
  && find node_modules -type f \( -name '*.d.ts' -o -name '*.map' -o -name '*.md' \) -delete \
  && find node_modules -type d -empty -delete
# Node is the one that package-lock.json names, so that the image runs what the tests ran. The final image has no
# `env`, which the command's first line asks for.
RUN mkdir -p /out/app /out/usr/local/bin \
  && sed -i '1s|.*|#!/usr/local/bin/node|' dist/cli/sluice.js && chmod 755 dist/cli/sluice.js \
  && mv node_modules/node-linux-*/bin/node /out/usr/local/bin/node && rm -r node_modules/node-linux-* node_modules/.bin \
  && mv package.json NOTICES.txt sbom.cdx.json dist node_modules /out/app/ \
  && ln -s /app/dist/cli/sluice.js /out/usr/local/bin/sluice

FROM ${BASE}
COPY --from=build /out /
WORKDIR /app
ENTRYPOINT ["/usr/local/bin/node", "dist/cli/main.js"]
