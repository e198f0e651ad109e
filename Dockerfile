# The image of the controller for kube/deploy/controller.yaml: one static program that
# starts itself again to compile, and the certificates that it trusts.
#
#   docker build -t REGISTRY/lkeplan-controller .
#
# Unverified: that an engine builds it. What is in it was run as this user, with a
# root that cannot be written to.
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -o /controller ./cmd/controller

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /controller /controller
USER 65532:65532
ENTRYPOINT ["/controller"]
