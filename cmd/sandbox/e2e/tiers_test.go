package e2e

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/lkeplan/lkeplan/testdata/nightly"
)

// The tiers. Each test is in one of them, but for Karpenter's own suite, which has a build tag.
const (
	tierGate    = "gate"    // make test: each push
	tierNightly = "nightly" // make nightly: once a night
	tierMachine = "machine" // make nightly, if machines can boot here
)

var tierFlag = flag.String("tier", "", "which tests run if -run names none: gate, nightly, machine or all; "+
	"by default gate, and nightly in make nightly")

// tiered is one test, or one of its subtests.
type tiered struct {
	name string
	// shows is, for a test of the gate, what it shows that no cheaper test can.
	shows string
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
		{name: "TestACheaperPoolMovesNodesOfAnother",
			shows: "the real Karpenter moves nodes of a pool that no commit names, and the controller's guards hold that back"},
		{name: "TestAHostileArtifactChangesNothing",
			shows: "the real controller and its compiling children bound hostile archives"},
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
		{name: "TestGuidesInASandbox/quickstart",
			shows: "the first guide works as written"},
		{name: "TestHostileNamesOfClustersAreNames",
			shows: "no sandbox: the scripts of the CI examples, run as they are"},
		{name: "TestImportedObjectsDoNotDiffer",
			shows: "import of live objects compiles back to what the API server stores"},
		{name: "TestMachinesAndClaimsDeletedByOthers",
			shows: "Karpenter's own finalizers and garbage collection after deletions by others"},
		{name: "TestMachinesJoinAutomatically",
			shows: "bootstrap tokens, cluster-info and certificates against a real API server and controller-manager"},
		{name: "TestMergeRequestOnAShallowCheckoutFails",
			shows: "no sandbox: the scripts of the CI examples, run as they are"},
		{name: "TestMergeRequestWithErrorsHasThemAsCodeQuality",
			shows: "no sandbox: the scripts of the CI examples, run as they are"},
		{name: "TestNoBurstGoesBeyondALimit",
			shows: "limits hold while the real Karpenter asks faster than machines come and the controller is killed"},
		{name: "TestNoCommitBypassesTheGuards",
			shows: "the real Karpenter replaces no node for commits that guards hold or the compiler refuses"},
		{name: "TestGiteaChecksPullRequests",
			shows: "no sandbox: the scripts of the CI examples, run as they are"},
		{name: "TestGuardsCannotBeDisabled",
			shows: "edits of the stored record and of the NodePlan through a real API server do not lift guards"},
		{name: "TestRevisionWithNodesThatNeverJoinIsRolledBack",
			shows: "a rollout is rolled back with real nodes, pods and a controller that is killed in between"},
		{name: "TestNothingBeginsWhileDisruptionIsStopped",
			shows: "the real Karpenter starts nothing while disruption is stopped, also after a kill, and continues at the end"},
		{name: "TestOnlyApproversCanApprove",
			shows: "real authorization and admission policies decide who approves"},
		{name: "TestPoliciesHoldFromTheFirstRevisionOn",
			shows: "policies are evaluated by the real controller before a first apply"},
		{name: "TestPredictedApplyIsTheServersApply",
			shows: "an apply that is computed offline is the API server's, by field managers and defaults"},
		{name: "TestPredictionMatchesKarpenter",
			shows: "Karpenter's own drift decides as diff has predicted, for each kind of field"},
		{name: "TestPullRequestHasOneCommentThatIsEdited",
			shows: "no sandbox: the scripts of the CI examples, run as they are"},
		{name: "TestPullRequestOfManyClustersHasOneComment",
			shows: "no sandbox: the scripts of the CI examples, run as they are"},
		{name: "TestPullRequestOnADefaultCheckoutFails",
			shows: "no sandbox: the scripts of the CI examples, run as they are"},
		{name: "TestPullRequestWithoutChangesHasNoComment",
			shows: "no sandbox: the scripts of the CI examples, run as they are"},
		{name: "TestQuickstartWithoutACluster",
			shows: "the block of the first guide for users without a cluster works as typed"},
		{name: "TestRolesAreExact",
			shows: "the audit log has no request that the roles of LKE mode lack, and the roles grant no more"},
		{name: "TestRules",
			shows: "no sandbox: rules, alerts and dashboards as Prometheus and Grafana read them"},
		{name: "TestRulesKnowTheirMetrics",
			shows: "no sandbox: rules, alerts and dashboards as Prometheus and Grafana read them"},
		{name: "TestSimulateMatchesKarpenter",
			shows: "simulate places pods as Karpenter and kube-scheduler do"},
		{name: "TestTemplateTakesOneVersionAlone",
			shows: "no sandbox: the scripts of the CI examples, run as they are"},
		{name: "TestTheCheckCanBeRequired",
			shows: "no sandbox: the scripts of the CI examples, run as they are"},
		{name: "TestWhatGitHubRuns",
			shows: "no sandbox: the scripts of the CI examples, run as they are"},
		{name: "TestWhatGitLabRuns",
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
		{name: "TestWrittenUserDataIsReadBack",
			shows: "no sandbox: what these tests write as user data"},
		{name: "TestChartRefusesOrRendersStrictly",
			shows: "no sandbox: what Helm renders from the chart"},
		{name: "TestChartRendersWithoutNewDefaults",
			shows: "no sandbox: what Helm renders from the chart"},
		{name: "TestChartValues",
			shows: "no sandbox: what Helm renders from the chart"},
		{name: "TestNotesWarnAboutMetadataService",
			shows: "no sandbox: what Helm renders from the chart"},
		{name: "TestWorkflowsPlanApplyAndSnapshot",
			shows: "the scripts of the CI examples run as they are against a cluster"},
	},
	tierNightly: {
		{name: "TestHeldDrainKeepsItsPods"},
		{name: "TestOnlyPeopleOnCallStopDisruption"},
		{name: "TestGuardsJudgeWhatTheAPIServerStores"},
		{name: "TestABufferKeepsItsNodes"},
		{name: "TestABurstCreatesExactlyTheNeededNodes/enterprise"},
		{name: "TestAClaimWhoseTokenIsBadEnds"},
		{name: "TestACommitMovesAPoolThroughFlux"},
		{name: "TestADirectoryOfAnotherClusterIsRefused"},
		{name: "TestALoopOfReplacementsIsStopped"},
		{name: "TestAMinuteWithoutTheAPIServer"},
		{name: "TestANodePlanFollowsARepository"},
		{name: "TestAPIServerAcceptsArgoCDObjects"},
		{name: "TestAPIServerAcceptsChart"},
		{name: "TestAPlanThatPrunesHasTheGuardsOfTheBase"},
		{name: "TestAPushBecomesPoolsThroughFlux"},
		{name: "TestARestoreWithoutNodeClaimsKeepsTheNodes"},
		{name: "TestARevisionWaitsForCapacity"},
		{name: "TestAStartWhileLinodeIsDown"},
		{name: "TestATokenIsRevokedAndWorksAgain"},
		{name: "TestAnApprovalIsForSoManyNodes"},
		{name: "TestAnUploadBecomesPoolsThroughFlux"},
		{name: "TestApplyIsRepeatableAndNeverTakesOver"},
		{name: "TestArgoCDApprovesAPlanFromAConfigMap"},
		{name: "TestArgoCDFindsThePlugin"},
		{name: "TestArgoCDGetsTheObjectsOfAnApplication"},
		{name: "TestArgoCDListsParameters"},
		{name: "TestArgoCDShowsErrors"},
		{name: "TestCapacityThatComesBackIsUsedAgain"},
		{name: "TestCatalogueIsReadFromTheAPI"},
		{name: "TestDoctor"},
		{name: "TestDrawnBuffersGetTheNodesThatSimulateSays"},
		{name: "TestDrawnChangesMoveTheNodesThatPlansName"},
		{name: "TestEachCallOfInstanceModeMayFail"},
		{name: "TestEachFieldOfAClassIsSeenAtItsLinode"},
		{name: "TestEachPanelOfTheDashboardsIsFilled"},
		{name: "TestFluxNotifies"},
		{name: "TestFluxTakesTheExample"},
		{name: "TestForeignPoolBlocksNoDeletion"},
		{name: "TestGuidesInASandbox/batch"},
		{name: "TestGuidesInASandbox/by-the-clock"},
		{name: "TestGuidesInASandbox/cost-caps"},
		{name: "TestGuidesInASandbox/critical"},
		{name: "TestGuidesInASandbox/gpu"},
		{name: "TestGuidesInASandbox/headroom"},
		{name: "TestGuidesInASandbox/maintenance"},
		{name: "TestGuidesInASandbox/moving-in"},
		{name: "TestGuidesInASandbox/office-hours"},
		{name: "TestGuidesInASandbox/troubleshooting"},
		{name: "TestGuidesInASandbox/upgrade-kubernetes"},
		{name: "TestIgnoredDriftIsKept"},
		{name: "TestInvalidPoolDoesNotBlockOthers"},
		{name: "TestKilledProbeLeavesNothingAfterTheNext"},
		{name: "TestLKEPoolsMoveIn"},
		{name: "TestLabelsChangeInPlace"},
		{name: "TestLabelsChangeInPlaceInInstanceMode"},
		{name: "TestLateOrPartialCalls"},
		{name: "TestLeavingWithDrain"},
		{name: "TestLeavingWithTheNodes"},
		{name: "TestLinodesAreConsolidatedAndExpire"},
		{name: "TestLinodesAreCreatedAndDeletedOnce"},
		{name: "TestMachinesInMaintenanceAreKept/instance"},
		{name: "TestMachinesInMaintenanceAreKept/lke"},
		{name: "TestMaintenanceIsShownOnly"},
		{name: "TestNodeClassSaysWhatIsWrongAndStaysWhileItIsUsed"},
		{name: "TestNodePlanSurvivesFailures"},
		{name: "TestNodePlansShareNothingAndWait"},
		{name: "TestNodesAreConsolidatedNearTheEndOfPaidHours"},
		{name: "TestNodesAreReplacedBeforeMaintenance"},
		{name: "TestNodesOfTheExistingProviderStay"},
		{name: "TestOptionalFeatures"},
		{name: "TestPlannedMovesAreTheNodesThatGo"},
		{name: "TestPoolThatGetsNoReplacementDoesNotDelayOthers"},
		{name: "TestPodsAreDefaultedAsByTheAPIServer"},
		{name: "TestPodsOfAllKindsGetNodes"},
		{name: "TestPodsWithoutAnotherPlaceKeepTheirPool"},
		{name: "TestPricesAgreeToTheCent"},
		{name: "TestProbeDecidesAllAssumptions"},
		{name: "TestPruneDeletesWhatItAppliedAndNothingElse"},
		{name: "TestRandomWorldsRunAsSimulated/few"},
		{name: "TestRandomWorldsRunAsSimulated/many"},
		{name: "TestRemovedPoolDrainsBeforeDeletion"},
		{name: "TestRolesOfInstanceModeAreExact"},
		{name: "TestScenariosOfTheExistingProvider"},
		{name: "TestSimulatedConsolidationMatchesKarpenter"},
		{name: "TestStaticPoolsFollowTheirReplicas"},
		{name: "TestStaticPoolsWithoutMachinesHoldUpNoOthers"},
		{name: "TestStatusShowsWhyPodsWait"},
		{name: "TestTakenOverFieldsAreOurs"},
		{name: "TestTakeoverIsRefusedWhereValuesDiffer"},
		{name: "TestTemplatePlansAndApplies"},
		{name: "TestTheControllerMayBeKilledAtEachCall/enterprise"},
		{name: "TestTheGuideWorksAsWritten"},
		{name: "TestTheGuidesClassesWorkInInstanceMode"},
		{name: "TestTheTestDataOfArgoCDCanExist"},
		{name: "TestTokenIsValidForOneNode"},
		{name: "TestUninstallCanBeCancelled"},
		{name: "TestVersionsOfNodesMoveByGitOnly/enterprise"},
		{name: "TestVersionsOfNodesMoveByGitOnly/standard"},
		{name: "TestWhyAgreesWithTheScheduler"},
		{name: "TestUnhealthyNodesAreRepairedOneAtATime"},
	},
	tierMachine: {
		{name: "TestAMachineWhosePowerIsCutJoins"},
		{name: "TestARealKubeletIsBoundEarly"},
		{name: "TestARealMachineJoins"},
		{name: "TestMachinesThatCannotJoinReportWhy"},
		{name: "TestRealProgramsRefuseTheSameUserData"},
		{name: "TestTenMachinesAtOnce"},
	},
}

// chosen returns the pattern for -test.run of the tests of a tier.
func chosen(tier string) (pattern string, err error) {
	wanted, ok := tests[tier]
	switch {
	case tier == "all":
		wanted = slices.Concat(tests[tierGate], tests[tierNightly], tests[tierMachine])
	case tier == "" && nightly.On():
		wanted = tests[tierNightly]
	case tier == "":
		wanted = tests[tierGate]
	case !ok:
		return "", fmt.Errorf("-tier %q: it is %s, %s, %s or all", tier, tierGate, tierNightly, tierMachine)
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
		if file.Comments != nil && file.Comments[0].List[0].Text == "//go:build regression" {
			continue
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

// chooseTests applies -tier, unless -run names tests.
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
	pattern, err := chosen(*tierFlag)
	if err != nil {
		return err
	}
	return run.Value.Set(pattern)
}
