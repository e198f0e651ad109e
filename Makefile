# `make help` says what there is.

GO      ?= go
# Without the path of the clone in what is compiled, another clone finds it, and results of
# tests, in the cache.
export GOFLAGS := $(filter-out -trimpath,$(GOFLAGS)) -trimpath
# The go command fetches the toolchain that go.mod names as a module. Some images forbid this with GOTOOLCHAIN=local.
export GOTOOLCHAIN := auto
BIN     := $(CURDIR)/bin
SANDBOX := $(BIN)/sandbox
TIMEOUT ?= 30m
# The database of advisories that make lint checks; make nightly takes the latest.
VULNDB  ?= v0.0.0-20261105234957-e22db6528018
# How many sandboxes the end-to-end tests run at a time: they wait more than they work.
SANDBOXES ?= 4
# The tests of cmd/sandbox read files of this module, such as examples, and run its programs. The
# go command sees neither, and would take results of before a change from its cache.
E2E := $(GO) test -C cmd/sandbox -count 1
# Packages whose subject is goroutines: make check has the race detector on these, make nightly on
# all but those that bound time and memory, of which it takes a lot.
CONCURRENT := ./linode/api ./linode/instance ./linode/lke ./linode/loop
BOUND      := -e /engine/compile$$ -e /engine/isolate -e /cmd/lkeplan

.DEFAULT_GOAL := build
.PHONY: build install unit test nightly check programs machine generated lint generate demo image bench fuzz help

build: ## build lkeplan, controller and sandbox into bin/
	$(GO) build -o $(BIN)/ ./cmd/lkeplan ./cmd/controller
	$(GO) build -C cmd/sandbox -o $(BIN)/ .

install: ## build lkeplan into $$(go env GOBIN), or bin in $$(go env GOPATH)
	$(GO) install ./cmd/lkeplan

unit: ## run the unit tests: no control plane, what did not change is not run again
	$(GO) test -timeout $(TIMEOUT) ./...
	$(E2E) -short -timeout $(TIMEOUT) . ./binaries ./image ./machine ./probe ./process ./stack

test: unit programs ## run the unit tests, and the gate of the end-to-end tests in sandboxes
	$(E2E) -timeout $(TIMEOUT) .
	$(E2E) -v -parallel $(SANDBOXES) -timeout $(TIMEOUT) ./e2e

check: lint generated test machine ## what CI runs: lint, generated files, make test, a few data races, make machine
	$(GO) test -race -timeout $(TIMEOUT) $(CONCURRENT)

nightly: programs ## run all that is too long for each push: races, long models, mutations, all sandboxes, machines, fuzzing
	@set -x; failed=; \
	make lint VULNDB=latest || failed=1; \
	$(GO) test -race -timeout 2h $$($(GO) list ./... | grep -v $(BOUND)) || failed=1; \
	LKEPLAN_NIGHTLY=1 $(GO) test -count 1 -timeout 4h ./... || failed=1; \
	LKEPLAN_NIGHTLY=1 $(E2E) -parallel $(SANDBOXES) -timeout 4h ./... || failed=1; \
	$(E2E) -v -parallel 3 -timeout 1h ./e2e -args -tier machine || failed=1; \
	make fuzz FUZZTIME=15s || failed=1; \
	test -z "$$failed"

programs: build
	$(SANDBOX) build flux

machine: build ## boot a real machine in namespaces, if this is root on Debian or Ubuntu, and have it join and run a pod
	$(E2E) -v -timeout $(TIMEOUT) -run '^TestARealMachineJoins$$' ./e2e

demo: build ## show the whole path in a sandbox: commit, pods, nodes, and nothing left
	$(SANDBOX) run --flux --cluster-name quickstart -- $(SANDBOX) demo

bench: ## run the benchmarks
	$(GO) test -run '^$$' -bench . -benchmem -timeout 90m ./...
	$(E2E) -run '^$$' -bench . -benchmem -timeout 90m ./...

image: ## build the controller's image for amd64 and arm64, without a container engine, into bin/image
	$(GO) run -C cmd/sandbox ./image -repository $(CURDIR)

lint: ## check formatting and imports, vet, and run staticcheck, actionlint and govulncheck
	@unformatted=$$(git ls-files '*.go' | grep -v zz_generated | \
	  xargs $(GO) tool -modfile=tools.mod goimports -l -local github.com/lkeplan/lkeplan) || exit 1; \
	  test -z "$$unformatted" || { echo "goimports would change:"; echo "$$unformatted"; exit 1; }
	$(GO) vet ./...
	$(GO) vet -C cmd/sandbox ./...
	$(GO) tool -modfile=tools.mod staticcheck ./...
	$(GO) tool -C cmd/sandbox -modfile=$(CURDIR)/tools.mod staticcheck ./...
	$(GO) tool -modfile=tools.mod actionlint -shellcheck= -pyflakes= examples/github/workflows/*.yml examples/rings/promote.yml cmd/lkeplan/starter/github.yml .github/workflows/*.yml
	@advisories=$$($(GO) mod download -json golang.org/x/vulndb@$(VULNDB) | sed -n 's/.*"Dir": "\(.*\)",/\1/p'); \
	  test -n "$$advisories" || { echo "no database of advisories: golang.org/x/vulndb@$(VULNDB) is not a module" >&2; exit 1; }; \
	  found=$$($(GO) tool -modfile=tools.mod govulncheck -db "file://$$advisories/data/osv" -show verbose ./...); code=$$?; \
	  echo "$$found" | grep -v '^  [^ ]*@v'; exit $$code

generate: ## rewrite what is generated: deep copies, CRDs, schemas, references, kube/deploy
	$(GO) generate ./schemas/...
	$(GO) test -vet=off -run "^(TestPublishedSchema|TestReference|TestCommandReference|TestPictureOf.*|TestNodePlanReference|TestMetricsReference|TestChart.*)$$" \
	  ./engine/report ./cmd/lkeplan ./schemas ./engine/controller ./kube -update
	$(GO) test -C cmd/sandbox -vet=off -run "^TestDeployMatchesChart$$" ./e2e -update

# The other files are compared by the tests that make generate runs; make test has them.
generated:
	$(GO) generate ./schemas/...
	@git diff --exit-code -- schemas kube || \
	  { echo "Generated files are out of date: run make generate and commit what it changes." >&2; exit 1; }

fuzz: ## run each fuzz target for FUZZTIME (30s)
	@for target in $$($(GO) test -list '^Fuzz' ./... | awk '/^Fuzz/ {f[n++]=$$1} /^ok/ {for (i=0;i<n;i++) print $$2 ":" f[i]; n=0}'); do \
	  echo "$$target"; $(GO) test -run '^$$' -fuzz "^$${target#*:}$$" -fuzztime $${FUZZTIME:-30s} "$${target%%:*}" || exit 1; done

help: ## print this
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-9s %s\n", $$1, $$2}' Makefile
