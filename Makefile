# `make help` says what there is.

GO      ?= go
BIN     := $(CURDIR)/bin
SANDBOX := $(BIN)/sandbox
TIMEOUT ?= 20m
# How many sandboxes the end-to-end tests run at a time: they wait more than they
# work.
SANDBOXES ?= 5

.DEFAULT_GOAL := build
.PHONY: build test demo bench regression notification lint generate fuzz help

build: ## build lkeplan, controller and sandbox into bin/
	$(GO) build -o $(BIN)/ ./cmd/lkeplan ./cmd/controller
	$(GO) build -C cmd/sandbox -o $(BIN)/ .

test: build ## run all tests, the end-to-end tests in a sandbox included
	$(SANDBOX) build flux
	$(GO) test -timeout $(TIMEOUT) ./...
	$(GO) test -C cmd/sandbox -timeout $(TIMEOUT) -parallel $(SANDBOXES) ./e2e
	$(GO) test -C cmd/sandbox -timeout $(TIMEOUT) $$($(GO) list -C cmd/sandbox ./... | grep -v '/e2e$$')

demo: build ## show the whole path in a sandbox: commit, pods, nodes, and nothing left
	$(GO) build -C cmd/sandbox -o $(BIN)/ ./demo
	$(SANDBOX) run --cluster-name quickstart -- $(BIN)/demo

bench: ## run the benchmarks
	$(GO) test -run '^$$' -bench . -benchmem -timeout 90m ./...
	$(GO) test -C cmd/sandbox -run '^$$' -bench . -benchmem -timeout 90m ./...

regression: build ## run Karpenter's own tests for providers, or those that FOCUS names
	$(GO) test -C cmd/sandbox -tags regression -timeout 4h -count 1 -v -run KarpentersOwnSuite ./e2e -args -focus "$(FOCUS)"

notification: build ## run what Flux's notification-controller makes of events
	$(GO) test -C cmd/sandbox -tags notification -timeout $(TIMEOUT) -count 1 -v -run TestFluxTells ./e2e

lint: ## check formatting, vet, and run staticcheck
	@unformatted=$$(git ls-files '*.go' | grep -v zz_generated | xargs gofmt -l); \
	  test -z "$$unformatted" || { echo "gofmt would change:"; echo "$$unformatted"; exit 1; }
	$(GO) vet ./...
	$(GO) vet -C cmd/sandbox ./...
	$(GO) tool -modfile=tools.mod staticcheck ./...
	$(GO) tool -C cmd/sandbox -modfile=$(CURDIR)/tools.mod staticcheck ./...

generate: ## rewrite what is generated: deep copies, definitions, schemas, the reference
	$(GO) generate ./schemas/...
	$(GO) test -run "^TestPublishedSchema$$" ./engine/report -update
	$(GO) test -run "^TestReference$$" ./cmd/lkeplan -update
	$(GO) test -run "^TestNodePlanReference$$" ./schemas/crd -update

fuzz: ## run each fuzz target for FUZZTIME (30s)
	@for target in $$($(GO) test -list '^Fuzz' ./... | awk '/^Fuzz/ {f[n++]=$$1} /^ok/ {for (i=0;i<n;i++) print $$2 ":" f[i]; n=0}'); do \
	  echo "$$target"; $(GO) test -run '^$$' -fuzz "^$${target#*:}$$" -fuzztime $${FUZZTIME:-30s} "$${target%%:*}" || exit 1; done

help: ## print this
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' Makefile
