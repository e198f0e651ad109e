# `make help` says what there is.

GO      ?= go
# Without the path of the clone in what is compiled, another clone finds it, and results of
# tests, in the cache.
export GOFLAGS := $(filter-out -trimpath,$(GOFLAGS)) -trimpath
BIN     := $(CURDIR)/bin
SANDBOX := $(BIN)/sandbox
TIMEOUT ?= 30m
# How many sandboxes the end-to-end tests run at a time: they wait more than they work.
SANDBOXES ?= 4
# RACE=-race has the unit tests look for data races, as make check does, in packages that
# have goroutines, channels or locks in their code or tests. The others are slower with it,
# and have no races to find. BOUND have tests that bound time and memory, of which it takes
# a lot, or start the command line thousands of times.
RACE       ?=
BOUND       = ./engine/compile ./engine/confine ./cmd/lkeplan
CONCURRENT  = $(or $(filter-out $(BOUND),$(shell $(GO) run concurrent.go)),$(error no package has goroutines))
OTHERS      = $(or $(shell $(GO) run concurrent.go -others),$(error each package has goroutines)) $(BOUND)
# The tests of cmd/sandbox read files of this module, such as examples, and run its programs. The
# go command sees neither, and would take results of before a change from its cache.
FRESH       = -count 1

.DEFAULT_GOAL := build
.PHONY: build unit test nightly check programs e2e-gate e2e-nightly sandboxes long models model rollouts day \
  cost drawn mutations releases demo bench compare regression notification settling joining machine machines no-machine image release-dry-run site browser no-browser cache-key \
  lint words generate generated fuzz help

build: ## build lkeplan, controller and sandbox into bin/
	$(GO) build -o $(BIN)/ ./cmd/lkeplan ./cmd/controller
	$(GO) build -C cmd/sandbox -o $(BIN)/ .

unit: ## run the unit tests: no control plane, what did not change is not run again
	$(if $(RACE),$(GO) test $(RACE) -timeout $(TIMEOUT) $(CONCURRENT))
	$(GO) test -timeout $(TIMEOUT) $(if $(RACE),$(OTHERS),./...)
	$(GO) test -C cmd/sandbox $(RACE) -short $(FRESH) -timeout $(TIMEOUT) $$($(GO) list -C cmd/sandbox ./... | grep -v /e2e)

test: ## run the tests of each push: unit tests, and the gate of the end-to-end tests in sandboxes
	@.ci/steps unit programs e2e-gate sandboxes

nightly: ## run the tests that are too long for each push, and a third of the mutations; of these, make regression takes hours and is not in it
	@FUZZTIME=$${FUZZTIME:-15s} THIRD=$${THIRD-$$(expr $$(date +%j) % 3)} .ci/steps -k programs long releases fuzz $(BROWSER)

# make check runs one of six parts of the nightly tests, from 0 to 5: .ci/slice chooses it if
# SLICE does not. A part is of the end-to-end tests, which run together with the gate, and what
# PART_N names. What takes too long for make check is only in make nightly: the long model,
# fuzzing, settling, joining; make machine is in each.
SLICE  ?=
PART_0  = day $(MACHINES)
PART_1 := cost
PART_2 := releases
PART_3 := notification
PART_4  = $(BROWSER)
PART_5 := drawn
# Machines boot in namespaces, which need root, and are made of Debian's packages.
NAMESPACES := command -v ip nsenter dpkg apt-get >/dev/null && \
  unshare --mount --pid --uts --ipc --net --cgroup --fork true >/dev/null 2>&1
MACHINE   = $(if $(shell $(NAMESPACES) && echo yes),machine,no-machine)
MACHINES  = $(if $(filter machine,$(MACHINE)),machines)
BROWSER = $(if $(shell command -v chromium chromium-browser google-chrome headless-shell 2>&1),browser,no-browser)

check: ## run what CI runs: lint, generated files, make test, data races, and a sixth of make nightly
	@slice=$$(SLICE=$(SLICE) .ci/slice) && \
	  RACE=-race .ci/steps lint generated unit programs e2e-gate-and-$$slice sandboxes $(MACHINE) part-$$slice

programs: build
	$(SANDBOX) build flux

E2E = $(GO) test -C cmd/sandbox -v -parallel $(SANDBOXES)

e2e-gate:
	$(E2E) -timeout $(TIMEOUT) ./e2e -args -tier gate

e2e-nightly:
	$(E2E) -timeout 60m ./e2e -args -tier nightly

e2e-gate-and-%: # a part of the nightly tests
	$(E2E) -timeout $(TIMEOUT) ./e2e -args -tier all -slice $*/6

part-%:
	$(if $(PART_$*),$(MAKE) $(PART_$*))

sandboxes: # tests of the sandbox itself
	$(GO) test -C cmd/sandbox $(FRESH) -timeout $(TIMEOUT) .

long: # together: all but the models wait more than they work
	$(MAKE) -j5 e2e-nightly notification settling joining models
	$(if $(MACHINES),$(MAKE) machine machines)

models: model rollouts day cost drawn mutations

model: ## have the model of capacity take a million steps, about five minutes
	$(GO) test ./linode/capacity -timeout 90m -run '^TestEveryClaim' -v -args -steps 1000000

rollouts:
	$(GO) test ./engine/gitops -run '^TestRolloutModel$$' -timeout $(TIMEOUT) -args -attacks 200

day:
	$(GO) test ./linode/lke -run '^TestADay$$' -v -timeout $(TIMEOUT) -args -hours 24

cost:
	$(GO) test ./engine/compile -run '^TestCost$$' -v -timeout $(TIMEOUT) -args -every 1

drawn: # all cases of which the unit tests draw a part
	$(GO) test ./engine/simulate -v -timeout $(TIMEOUT) -args -worlds 400 -nodes 60
	$(GO) test ./engine/compare -run '^TestRandomChanges' -v -timeout $(TIMEOUT) -args -pairs 100000
	$(GO) test ./config -run '^FuzzLoad$$' -v -timeout $(TIMEOUT) -args -every 1
	$(GO) test ./cmd/lkeplan -run '^TestGitBaseDetection$$' -v -timeout $(TIMEOUT) -args -every 1
	$(GO) test ./linode/lke -run '^TestEveryCallMayFail$$' -v -timeout $(TIMEOUT) -args -every 1

THIRD ?=
mutations: # bugs that the unit tests must find: all, or a third of them
	$(GO) test -run '^TestMutations$$' -v -parallel 2 -timeout 90m . -args -mutate . -third '$(THIRD)'

releases: # compiles everything again, as a release does
	$(GO) test -C cmd/sandbox -v -timeout $(TIMEOUT) ./release

no-browser:
	@echo "The pages of the site are not opened: there is no Chromium."

cache-key: # of the programs of a sandbox, for caches of CI systems
	@{ $(GO) version; cat cmd/sandbox/binaries/*.go cmd/sandbox/binaries/modules/*; } | git hash-object --stdin

demo: build ## show the whole path in a sandbox: commit, pods, nodes, and nothing left
	$(SANDBOX) run --cluster-name quickstart -- $(SANDBOX) demo

bench: ## run the benchmarks
	$(GO) test -run '^$$' -bench . -benchmem -timeout 90m ./...
	$(GO) test -C cmd/sandbox -run '^$$' -bench . -benchmem -timeout 90m ./...

compare: ## measure bursts of 1, 25 and 250 nodes, as the README has them: a machine for itself, five minutes
	$(GO) test -C cmd/sandbox -run '^$$' -bench '^BenchmarkCapacity$$/^(1_node|25_nodes|250_nodes.*)$$' -benchtime 1x \
	  -timeout 30m ./e2e | awk '/^Benchmark/ {split($$1, name, "/"); sub(/-[0-9]+$$/, "", name[2]); gsub("_", " ", name[2]); \
	  for (i = 3; i < NF; i += 2) v[$$(i+1)] = $$i; \
	  printf "%-36s %s s beyond boot, %s calls a node up, %s down, %s s of CPU, %s MiB\n", name[2], v["s-beyond-boot"], \
	  v["calls/node-up"], v["calls/node-down"], v["cpu-s"], v["MiB"]} !/^Benchmark/ && /FAIL|panic|Error|_test.go/ {print} \
	  /FAIL|panic/ {failed = 1} END {exit failed}'

regression: build ## run Karpenter's own tests for providers, or those that FOCUS names
	$(GO) test -C cmd/sandbox -tags regression -timeout 4h -count 1 -parallel 7 -v -run KarpentersOwnSuite ./e2e -args -focus "$(FOCUS)"

image: ## build the controller's image for amd64 and arm64, without a container engine: bin/release/image
	$(GO) run -C cmd/sandbox ./release -repository $(CURDIR) image

release-dry-run: ## build what a release publishes into bin/release, all platforms, and publish nothing
	$(GO) run -C cmd/sandbox ./release -repository $(CURDIR)

notification: build ## run what Flux's notification-controller makes of events
	$(GO) test -C cmd/sandbox -tags notification -timeout $(TIMEOUT) -count 1 -v -run TestFluxNotifies ./e2e

settling: build ## compare the end of a simulated consolidation with the controller's: ten minutes
	$(GO) test -C cmd/sandbox -tags settling -timeout $(TIMEOUT) -count 1 -v -run TestSimulatedConsolidationMatchesKarpenter ./e2e

machine: build ## boot a real machine in namespaces, and have it join, run a pod and go: needs root, and no KVM
	$(GO) test -C cmd/sandbox -tags machine -timeout $(TIMEOUT) -count 1 -v -run '^TestARealMachineJoins$$' ./e2e

machines: build ## boot real machines that fail to join, lose power, or come ten at once: four minutes, root
	$(GO) test -C cmd/sandbox -tags machine -timeout $(TIMEOUT) -count 1 -v ./machine
	$(GO) test -C cmd/sandbox -tags machine -timeout $(TIMEOUT) -count 1 -parallel 3 -v \
	  -run '^Test(MachinesThatCannotJoinReportWhy|AMachineWhosePowerIsCutJoins|TenMachinesAtOnce|RealProgramsRefuseTheSameUserData|ARealKubeletIsBoundEarly)$$' ./e2e

no-machine:
	@echo "No real machine is booted: that needs root, namespaces, and a Debian or Ubuntu with iproute2 (sudo make machine)."

joining: build ## have machines with bad tokens come to their end in instance mode: twenty minutes
	$(GO) test -C cmd/sandbox -tags neverjoins -timeout $(TIMEOUT) -count 1 -v -run TestAClaimWhoseTokenIsBadEnds ./e2e

site: ## render the documents into bin/site, to be opened there by a browser
	$(GO) run -C cmd/sandbox ./site $(CURDIR) $(BIN)/site

browser: ## open each page of the site in Chromium: light, dark, on a phone; PICTURES=DIR keeps pictures
	$(GO) test -C cmd/sandbox -tags browser -count 1 -v -run Browser ./site -args -pictures "$(abspath $(PICTURES))"

lint: words ## check formatting, imports and words, vet, and run staticcheck and actionlint
	@unformatted=$$(git ls-files '*.go' | grep -v zz_generated | \
	  xargs $(GO) tool -modfile=tools.mod goimports -l -local github.com/lkeplan/lkeplan) || exit 1; \
	  test -z "$$unformatted" || { echo "goimports would change:"; echo "$$unformatted"; exit 1; }
	$(GO) vet ./...
	$(GO) vet -C cmd/sandbox ./...
	$(GO) tool -modfile=tools.mod staticcheck ./...
	$(GO) tool -C cmd/sandbox -modfile=$(CURDIR)/tools.mod staticcheck ./...
	$(GO) tool -modfile=tools.mod actionlint -shellcheck= -pyflakes= examples/github/workflows/*.yml cmd/lkeplan/starter/github.yml .github/workflows/*.yml

# Each Go file's strings and comments are checked in bin/prose, on the lines that they have in the file.
WORDS = $(shell git ls-files '*.md' ':!.vale')
VALE  = $(GO) tool -modfile=tools.mod vale --output=line
words: ## check the words of documents, messages and comments (CONTRIBUTING.md, "Writing")
	@$(GO) run prose.go $(BIN)/prose
	@found=$$($(VALE) .vale/refused.md | grep -c .); test "$$found" -ge 5 || { echo "Vale finds $$found words in .vale/refused.md" >&2; exit 1; }
	@$(VALE) $(BIN)/prose $(WORDS)

generate: ## rewrite what is generated: deep copies, CRDs, schemas, references, kube/deploy
	$(GO) generate ./schemas/...
	$(GO) test -vet=off -run "^(TestPublishedSchema|TestReference|TestCommandReference|TestPictureOf.*|TestNodePlanReference|TestMetricsReference|TestChart.*)$$" \
	  ./engine/report ./cmd/lkeplan ./schemas ./engine/controller ./kube -update
	$(GO) test -C cmd/sandbox -vet=off -run "^TestDeployMatchesChart$$" ./e2e -update

# The other files are compared by the tests that make generate runs; make test has them.
generated: ## check that the files are up to date that no test compares: deep copies and CRDs
	$(GO) generate ./schemas/...
	@git diff --exit-code -- schemas kube || \
	  { echo "Generated files are out of date: run make generate and commit what it changes." >&2; exit 1; }

fuzz: ## run each fuzz target for FUZZTIME (30s)
	@for target in $$($(GO) test -list '^Fuzz' ./... | awk '/^Fuzz/ {f[n++]=$$1} /^ok/ {for (i=0;i<n;i++) print $$2 ":" f[i]; n=0}'); do \
	  echo "$$target"; $(GO) test -run '^$$' -fuzz "^$${target#*:}$$" -fuzztime $${FUZZTIME:-30s} "$${target%%:*}" || exit 1; done

help: ## print this
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-15s %s\n", $$1, $$2}' Makefile
