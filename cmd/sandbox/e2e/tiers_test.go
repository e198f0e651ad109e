package e2e

import (
	"cmp"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// The tiers. Each test is in one of them, but for those behind a build tag, which have targets
// in the Makefile.
const (
	tierGate    = "gate"    // make test: each push
	tierNightly = "nightly" // make nightly: once a night, and a slice of it on each push
)

var (
	tierFlag  = flag.String("tier", tierGate, "which tests run if -run names none: gate, nightly or all")
	sliceFlag = flag.String("slice", "",
		"which part of the nightly tests of the tier runs, such as 2/6: part 2 of the parts 0 to 5")
)

// tiered is one test, or one of its subtests, and its tier.
type tiered struct {
	name string
	// shows is, for a test of the gate, what it shows that no cheaper test can.
	shows string
	// takes is how long a test of the nightly tier takes next to others; slices are
	// balanced by it.
	takes time.Duration
}

// tests are all tests of this package, by tier and then in the order of their names.
var tests = map[string][]tiered{
	tierGate: {
		{name: "TestABurstCreatesExactlyTheNeededNodes/standard",
			shows: "100 pods get 25 machines and no more, with the real scheduler and Karpenter's batching"},
		{name: "TestABurstInInstanceMode",
			shows: "the same in instance mode, and no pod lands on a node before it has its taints and labels"},
		{name: "TestACommitBecomesNodesThroughFlux",
			shows: "source-controller's artifact of a Git commit becomes nodes, and a bad one changes nothing"},
		{name: "TestAHostileArtifactChangesNothing",
			shows: "the fetching and compiling children of the real controller bound hostile archives"},
		{name: "TestANodePlanKeepsTheClusterAsItsSourceSays",
			shows: "the whole life of a NodePlan against a real API server: refused, approved, drifted, deleted"},
		{name: "TestAPullRequestsPlanIsWhatItsMergeDoes",
			shows: "the objects and nodes of a pull request's diff are those that change after the merge"},
		{name: "TestRolloutMatchesPrediction",
			shows: "the nodes that diff names are those that the real Karpenter replaces"},
		{name: "TestSavedPlanIsAppliedExactlyOrNotAtAll",
			shows: "a saved plan against live objects that others change in between"},
		{name: "TestAlertsHaveRunbooks",
			shows: "no sandbox: rules, alerts and dashboards as Prometheus and Grafana read them"},
		{name: "TestArgoCDOffersActions",
			shows: "no sandbox: Argo CD's actions in a Lua interpreter"},
		{name: "TestArgoCDShowsHealth",
			shows: "no sandbox: Argo CD's health scripts in a Lua interpreter"},
		{name: "TestArgoCDsApplicationsFitTogether",
			shows: "no sandbox: the example's files agree"},
		{name: "TestArgoCDsConfigMapHasTheScripts",
			shows: "no sandbox: the example's files agree"},
		{name: "TestBadInputGetsOneClearLine",
			shows: "errors of the real programs and API server reach the terminal as one line"},
		{name: "TestChartRefusesBadValues",
			shows: "no sandbox: what Helm renders from the chart"},
		{name: "TestDashboardsShowWhatThereIs",
			shows: "no sandbox: rules, alerts and dashboards as Prometheus and Grafana read them"},
		{name: "TestDeployMatchesChart",
			shows: "no sandbox: what Helm renders from the chart"},
		{name: "TestChartKeepsPartsSeparate",
			shows: "no sandbox: what Helm renders from the chart"},
		{name: "TestForkIsCommentedOnInTwoStages",
			shows: "no sandbox: the scripts of the CI examples, run as they are"},
		{name: "TestForksGetNoSecrets",
			shows: "no sandbox: the scripts of the CI examples, run as they are"},
		{name: "TestGuidesInASandbox/quickstart",
			shows: "the first guide works as written"},
		{name: "TestGuidesInASandbox/troubleshooting",
			shows: "the messages of the troubleshooting guide are those of a cluster"},
		{name: "TestHostileCommentIsDefused",
			shows: "no sandbox: the scripts of the CI examples, run as they are"},
		{name: "TestHostileHandOverIsRefused",
			shows: "no sandbox: the scripts of the CI examples, run as they are"},
		{name: "TestHostileNamesOfClustersAreNames",
			shows: "no sandbox: the scripts of the CI examples, run as they are"},
		{name: "TestImportedObjectsDoNotDiffer",
			shows: "import of live objects compiles back to what the API server stores"},
		{name: "TestInstallTakesOneVersionAlone",
			shows: "no sandbox: the scripts of the CI examples, run as they are"},
		{name: "TestLeavingWithDrain",
			shows: "real evictions and finalizers end with nothing at Linode"},
		{name: "TestMachinesAndClaimsDeletedByOthers",
			shows: "Karpenter's own finalizers and garbage collection after deletions by others"},
		{name: "TestMachinesJoinAutomatically",
			shows: "bootstrap tokens, cluster-info and certificates against a real API server and controller-manager"},
		{name: "TestMergeRequestHasReports",
			shows: "no sandbox: the scripts of the CI examples, run as they are"},
		{name: "TestMergeRequestOnAShallowCheckoutFails",
			shows: "no sandbox: the scripts of the CI examples, run as they are"},
		{name: "TestMergeRequestThatAGuardRefuses",
			shows: "no sandbox: the scripts of the CI examples, run as they are"},
		{name: "TestMergeRequestWithErrorsHasThemAsCodeQuality",
			shows: "no sandbox: the scripts of the CI examples, run as they are"},
		{name: "TestNoBurstGoesBeyondALimit",
			shows: "limits hold while the real Karpenter asks faster than machines come and the controller is killed"},
		{name: "TestNoCommitBypassesTheGuards",
			shows: "the real Karpenter replaces no node for commits that guards hold or the compiler refuses"},
		{name: "TestGuardsCannotBeDisabled",
			shows: "edits of the stored record and of the NodePlan through a real API server do not lift guards"},
		{name: "TestRevisionWithNodesThatNeverJoinIsRolledBack",
			shows: "a rollout is rolled back with real nodes, pods and a controller that is killed in between"},
		{name: "TestOnlyApproversCanApprove",
			shows: "real authorization and admission policies decide who approves"},
		{name: "TestPoliciesHoldFromTheFirstRevisionOn",
			shows: "policies are evaluated by the real controller before a first apply"},
		{name: "TestPredictedApplyIsTheServersApply",
			shows: "an apply that is computed offline is the API server's, by field managers and defaults"},
		{name: "TestPredictionMatchesKarpenter",
			shows: "Karpenter's own drift decides as diff has predicted, for each kind of field"},
		{name: "TestPullRequestFromAForkIsNotForThisWorkflow",
			shows: "no sandbox: the scripts of the CI examples, run as they are"},
		{name: "TestPullRequestHasOneCommentThatIsEdited",
			shows: "no sandbox: the scripts of the CI examples, run as they are"},
		{name: "TestPullRequestOfManyClustersHasOneComment",
			shows: "no sandbox: the scripts of the CI examples, run as they are"},
		{name: "TestPullRequestOnADefaultCheckoutFails",
			shows: "no sandbox: the scripts of the CI examples, run as they are"},
		{name: "TestPullRequestThatAGuardRefuses",
			shows: "no sandbox: the scripts of the CI examples, run as they are"},
		{name: "TestPullRequestWithoutChangesHasNoComment",
			shows: "no sandbox: the scripts of the CI examples, run as they are"},
		{name: "TestRolesAreExact",
			shows: "the audit log has no request that the roles of LKE mode lack, and the roles grant no more"},
		{name: "TestRolesOfInstanceModeAreExact",
			shows: "the same for instance mode"},
		{name: "TestRules",
			shows: "no sandbox: rules, alerts and dashboards as Prometheus and Grafana read them"},
		{name: "TestRulesKnowTheirMetrics",
			shows: "no sandbox: rules, alerts and dashboards as Prometheus and Grafana read them"},
		{name: "TestRunbooksQuoteLogMessages",
			shows: "no sandbox: rules, alerts and dashboards as Prometheus and Grafana read them"},
		{name: "TestSimulateMatchesKarpenter",
			shows: "simulate places pods as Karpenter and kube-scheduler do"},
		{name: "TestSlicesCoverTheNightlyTier",
			shows: "no sandbox: the table of tiers itself"},
		{name: "TestStatusShowsWhyPodsWait",
			shows: "status names the causes that the real scheduler and Karpenter report"},
		{name: "TestTakenOverFieldsAreOurs",
			shows: "field managers after a takeover, as the API server keeps them"},
		{name: "TestTakeoverIsRefusedWhereValuesDiffer",
			shows: "a takeover that would change a live value is refused by the server's own conflicts"},
		{name: "TestTemplateTakesOneVersionAlone",
			shows: "no sandbox: the scripts of the CI examples, run as they are"},
		{name: "TestTenantIsolation",
			shows: "real service accounts keep NodePlans of tenants apart"},
		{name: "TestChartInstallUpgradeUninstall",
			shows: "Helm's install, upgrade and uninstall leave nodes and pods alone"},
		{name: "TestTheChartGetsTheSameSidecar",
			shows: "no sandbox: the example's files agree"},
		{name: "TestTheControllerMayBeKilledAtEachCall/standard",
			shows: "a killed process repeats no call: only a real process can be killed"},
		{name: "TestTheNextControllerLeadsAtOnce",
			shows: "the lease of a real API server changes hands within seconds"},
		{name: "TestValidationAgrees",
			shows: "the API server accepts and refuses what offline validation does"},
		{name: "TestRandomWorldsRunAsSimulated/few",
			shows: "pods that are drawn at random get the nodes of simulate, and the real scheduler runs them there"},
		{name: "TestWrittenUserDataIsReadBack",
			shows: "no sandbox: what these tests write as user data"},
		{name: "TestChartRefusesOrRendersStrictly",
			shows: "no sandbox: what Helm renders from the chart"},
		{name: "TestChartRendersWithoutNewDefaults",
			shows: "no sandbox: what Helm renders from the chart"},
		{name: "TestChartValues",
			shows: "no sandbox: what Helm renders from the chart"},
		{name: "TestNotesListValuesWithoutEffect",
			shows: "no sandbox: what Helm renders from the chart"},
		{name: "TestNotesWarnAboutMetadataService",
			shows: "no sandbox: what Helm renders from the chart"},
		{name: "TestWorkflowsPlanApplyAndSnapshot",
			shows: "the scripts of the CI examples run as they are against a cluster"},
	},
	tierNightly: {
		{name: "TestABufferKeepsItsNodes", takes: 60 * time.Second},
		{name: "TestABurstCreatesExactlyTheNeededNodes/enterprise", takes: 60 * time.Second},
		{name: "TestACommitMovesAPoolThroughFlux", takes: 40 * time.Second},
		{name: "TestACommitReachesOneRingAfterTheOther", takes: 210 * time.Second},
		{name: "TestADirectoryOfAnotherClusterIsRefused", takes: 20 * time.Second},
		{name: "TestForeignPoolBlocksNoDeletion", takes: 60 * time.Second},
		{name: "TestALoopOfReplacementsIsStopped", takes: 200 * time.Second},
		{name: "TestAMigrationKeepsNodesUntilOthersAreThere", takes: 60 * time.Second},
		{name: "TestAMinuteWithoutTheAPIServer", takes: 150 * time.Second},
		{name: "TestANewReleaseRollsNothing", takes: 150 * time.Second},
		{name: "TestANodePlanFollowsARepository", takes: 30 * time.Second},
		{name: "TestMachinesInMaintenanceAreKept/instance", takes: 330 * time.Second},
		{name: "TestMachinesInMaintenanceAreKept/lke", takes: 360 * time.Second},
		{name: "TestMaintenanceIsShownOnly", takes: 40 * time.Second},
		{name: "TestNodePlanSurvivesFailures", takes: 40 * time.Second},
		{name: "TestAPlanThatPrunesHasTheGuardsOfTheBase", takes: 20 * time.Second},
		{name: "TestAPushBecomesPoolsThroughFlux", takes: 30 * time.Second},
		{name: "TestRemovedPoolDrainsBeforeDeletion", takes: 90 * time.Second},
		{name: "TestARestoreWithoutNodeClaimsKeepsTheNodes", takes: 90 * time.Second},
		{name: "TestARevisionWaitsForCapacity", takes: 100 * time.Second},
		{name: "TestAPIServerAcceptsArgoCDObjects", takes: 20 * time.Second},
		{name: "TestAStartWhileLinodeIsDown", takes: 60 * time.Second},
		{name: "TestTokenIsValidForOneNode", takes: 60 * time.Second},
		{name: "TestATokenIsRevokedAndWorksAgain", takes: 90 * time.Second},
		{name: "TestInvalidPoolDoesNotBlockOthers", takes: 60 * time.Second},
		{name: "TestAnApprovalIsForSoManyNodes", takes: 40 * time.Second},
		{name: "TestAnUploadBecomesPoolsThroughFlux", takes: 30 * time.Second},
		{name: "TestApplyIsRepeatableAndNeverTakesOver", takes: 30 * time.Second},
		{name: "TestArgoCDFindsThePlugin", takes: 5 * time.Second},
		{name: "TestArgoCDGetsTheObjectsOfAnApplication", takes: 5 * time.Second},
		{name: "TestArgoCDListsParameters", takes: 5 * time.Second},
		{name: "TestArgoCDShowsErrors", takes: 5 * time.Second},
		{name: "TestLateOrPartialCalls", takes: 180 * time.Second},
		{name: "TestCapacityThatComesBackIsUsedAgain", takes: 60 * time.Second},
		{name: "TestDoctor", takes: 120 * time.Second},
		{name: "TestDuringBlockSwitchesValuesAndNoNodes", takes: 330 * time.Second},
		{name: "TestEachCallOfInstanceModeMayFail", takes: 300 * time.Second},
		{name: "TestEachFieldOfAClassIsSeenAtItsLinode", takes: 40 * time.Second},
		{name: "TestEachPanelOfTheDashboardsIsFilled", takes: 40 * time.Second},
		{name: "TestIgnoredDriftIsKept", takes: 30 * time.Second},
		{name: "TestExamplesWithoutFluxOrArgoCD", takes: 40 * time.Second},
		{name: "TestFluxTakesTheExample", takes: 20 * time.Second},
		{name: "TestForecastIsComparedWithWhatHappened", takes: 140 * time.Second},
		{name: "TestGuidesInASandbox/batch", takes: 40 * time.Second},
		{name: "TestGuidesInASandbox/cost-caps", takes: 40 * time.Second},
		{name: "TestGuidesInASandbox/critical", takes: 40 * time.Second},
		{name: "TestGuidesInASandbox/gpu", takes: 40 * time.Second},
		{name: "TestGuidesInASandbox/headroom", takes: 40 * time.Second},
		{name: "TestGuidesInASandbox/maintenance", takes: 60 * time.Second},
		{name: "TestGuidesInASandbox/moving-in", takes: 40 * time.Second},
		{name: "TestGuidesInASandbox/office-hours", takes: 40 * time.Second},
		{name: "TestGuidesInASandbox/upgrade-kubernetes", takes: 60 * time.Second},
		{name: "TestLKEPoolsMoveIn", takes: 60 * time.Second},
		{name: "TestUninstallCanBeCancelled", takes: 80 * time.Second},
		{name: "TestLeavingWithTheNodes", takes: 60 * time.Second},
		{name: "TestLinodesAreConsolidatedAndExpire", takes: 220 * time.Second},
		{name: "TestLinodesAreCreatedAndDeletedOnce", takes: 300 * time.Second},
		{name: "TestNeighbouringReleasesWorkTogether", takes: 60 * time.Second},
		{name: "TestNodeClassSaysWhatIsWrongAndStaysWhileItIsUsed", takes: 40 * time.Second},
		{name: "TestNodePlansShareNothingAndWait", takes: 40 * time.Second},
		{name: "TestNodesAreConsolidatedNearTheEndOfPaidHours", takes: 150 * time.Second},
		{name: "TestLabelsChangeInPlace", takes: 80 * time.Second},
		{name: "TestLabelsChangeInPlaceInInstanceMode", takes: 60 * time.Second},
		{name: "TestNodesAreReplacedBeforeMaintenance", takes: 120 * time.Second},
		{name: "TestNodesOfTheExistingProviderStay", takes: 100 * time.Second},
		{name: "TestOptionalFeatures", takes: 60 * time.Second},
		{name: "TestPodsAreDefaultedAsByTheAPIServer", takes: 20 * time.Second},
		{name: "TestPodsOfAllKindsGetNodes", takes: 30 * time.Second},
		{name: "TestPodsWithoutAnotherPlaceKeepTheirPool", takes: 80 * time.Second},
		{name: "TestPricesAgreeToTheCent", takes: 200 * time.Second},
		{name: "TestPruneDeletesWhatItAppliedAndNothingElse", takes: 20 * time.Second},
		{name: "TestScenariosOfTheExistingProvider", takes: 300 * time.Second},
		{name: "TestStaticPoolsFollowTheirReplicas", takes: 240 * time.Second},
		{name: "TestStaticPoolsWithoutMachinesHoldUpNoOthers", takes: 200 * time.Second},
		{name: "TestTemplatePlansAndApplies", takes: 30 * time.Second},
		{name: "TestAPIServerAcceptsChart", takes: 20 * time.Second},
		{name: "TestCatalogueIsReadFromTheAPI", takes: 20 * time.Second},
		{name: "TestTheControllerMayBeKilledAtEachCall/enterprise", takes: 60 * time.Second},
		{name: "TestTheGuideWorksAsWritten", takes: 90 * time.Second},
		{name: "TestTheGuidesClassesWorkInInstanceMode", takes: 40 * time.Second},
		{name: "TestTheTestDataOfArgoCDCanExist", takes: 20 * time.Second},
		{name: "TestTopShowsRunningNodes", takes: 30 * time.Second},
		{name: "TestTracesConnectCommitToNode", takes: 40 * time.Second},
		{name: "TestVersionsOfNodesMoveByGitOnly/enterprise", takes: 100 * time.Second},
		{name: "TestVersionsOfNodesMoveByGitOnly/standard", takes: 100 * time.Second},
		{name: "TestWhyAgreesWithTheScheduler", takes: 300 * time.Second},
		{name: "TestRandomWorldsRunAsSimulated/many", takes: 120 * time.Second},
	},
}

// chosen returns the pattern for -test.run of the tests of a tier, of the nightly ones only
// those of a slice.
func chosen(tier, slice string) (pattern string, err error) {
	nightly := tests[tierNightly]
	if slice != "" {
		of, count, ok := strings.Cut(slice, "/")
		k, err1 := strconv.Atoi(of)
		n, err2 := strconv.Atoi(count)
		if !ok || err1 != nil || err2 != nil || n < 1 || k < 0 || k >= n {
			return "", fmt.Errorf("-slice %q: it is K/N, with K from 0 to N-1", slice)
		}
		nightly = sliced(nightly, n)[k]
	}
	var wanted []tiered
	switch tier {
	case tierGate:
		wanted = tests[tierGate]
	case tierNightly:
		wanted = nightly
	case "all":
		wanted = slices.Concat(tests[tierGate], nightly)
	default:
		return "", fmt.Errorf("-tier %q: it is %s, %s or all", tier, tierGate, tierNightly)
	}
	var patterns []string
	for _, test := range wanted {
		parts := strings.Split(test.name, "/")
		for i, part := range parts {
			parts[i] = "^" + regexp.QuoteMeta(part) + "$"
		}
		patterns = append(patterns, strings.Join(parts, "/"))
	}
	slices.Sort(patterns)
	return strings.Join(patterns, "|"), nil
}

// sliced distributes tests so that each slice takes about as long as the others: the
// longest first, each to the slice that is the shortest so far.
func sliced(all []tiered, n int) [][]tiered {
	all = slices.Clone(all)
	slices.SortFunc(all, func(a, b tiered) int {
		return cmp.Or(cmp.Compare(b.takes, a.takes), cmp.Compare(a.name, b.name))
	})
	parts, lengths := make([][]tiered, n), make([]time.Duration, n)
	for _, test := range all {
		shortest := slices.Index(lengths, slices.Min(lengths))
		parts[shortest] = append(parts[shortest], test)
		lengths[shortest] += test.takes
	}
	return parts
}

// declared returns the names of the test functions in this package's files.
func declared() (names map[string]bool, err error) {
	entries, err := os.ReadDir(".")
	if err != nil {
		return nil, err
	}
	names = map[string]bool{}
	for _, entry := range entries {
		if !strings.HasSuffix(entry.Name(), "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), entry.Name(), nil, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		if file.Comments != nil && strings.HasPrefix(file.Comments[0].List[0].Text, "//go:build") {
			continue // it has a target in the Makefile
		}
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") &&
				f.Name.Name != "TestMain" {
				names[f.Name.Name] = true
			}
		}
	}
	return names, nil
}

// untiered returns what is wrong with the table of tiers: tests that are in none or do not
// exist, and tests of the gate that do not say why they are there.
func untiered() (mistakes []string, err error) {
	missing, err := declared()
	if err != nil {
		return nil, err
	}
	known := maps.Clone(missing)
	seen := map[string]bool{}
	for tier, all := range tests {
		for _, test := range all {
			name, _, _ := strings.Cut(test.name, "/")
			delete(missing, name)
			switch {
			case !known[name]:
				mistakes = append(mistakes, fmt.Sprintf("%s is in tier %s and does not exist", test.name, tier))
			case seen[test.name]:
				mistakes = append(mistakes, fmt.Sprintf("%s is in the table twice", test.name))
			case tier == tierGate && test.shows == "":
				mistakes = append(mistakes, test.name+" does not say what it shows that no cheaper test can")
			case tier == tierNightly && test.takes == 0:
				mistakes = append(mistakes, test.name+" does not say how long it takes")
			}
			seen[test.name] = true
		}
	}
	for name := range missing {
		mistakes = append(mistakes, name+" is in no tier: add it to the table in tiers_test.go")
	}
	slices.Sort(mistakes)
	return mistakes, nil
}

// chooseTests applies -tier and -slice, unless -run names tests.
func chooseTests() error {
	mistakes, err := untiered()
	if err != nil {
		return err
	}
	if len(mistakes) > 0 {
		return fmt.Errorf("tiers_test.go:\n%s", strings.Join(mistakes, "\n"))
	}
	run := flag.Lookup("test.run")
	if run.Value.String() != "" || flag.Lookup("test.list").Value.String() != "" {
		return nil
	}
	pattern, err := chosen(*tierFlag, *sliceFlag)
	if err != nil {
		return err
	}
	return run.Value.Set(pattern)
}

// TestSlicesCoverTheNightlyTier: each of its tests is in one slice, and no slice is much
// longer than another.
func TestSlicesCoverTheNightlyTier(t *testing.T) {
	t.Parallel()
	for n := 1; n <= 8; n++ {
		count := map[string]int{}
		var lengths []time.Duration
		for _, part := range sliced(tests[tierNightly], n) {
			var length time.Duration
			for _, test := range part {
				count[test.name]++
				length += test.takes
			}
			lengths = append(lengths, length)
		}
		for _, test := range tests[tierNightly] {
			if count[test.name] != 1 {
				t.Errorf("with %d slices %s is in %d of them", n, test.name, count[test.name])
			}
		}
		if longest, shortest := slices.Max(lengths), slices.Min(lengths); longest > 2*shortest {
			t.Errorf("of %d slices one takes %s and another %s", n, longest, shortest)
		}
	}
	for _, bad := range []string{"6/6", "-1/6", "1", "1/0", "a/b"} {
		if pattern, err := chosen(tierNightly, bad); err == nil {
			t.Errorf("slice %s is taken, as %s", bad, pattern)
		}
	}
}
