// Package anp runs upstream's conformance suite of AdminNetworkPolicy and
// BaselineAdminNetworkPolicy, which v0.2.0 of the policy API no longer has:
// hence a go.mod of its own. It is upstream's runner but for one deadline.
package anp

import (
	"os"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/config"
	"sigs.k8s.io/network-policy-api/apis/v1alpha1"
	"sigs.k8s.io/network-policy-api/conformance/tests"
	"sigs.k8s.io/network-policy-api/conformance/utils/flags"
	"sigs.k8s.io/network-policy-api/conformance/utils/suite"
	"sigs.k8s.io/yaml"

	timeouts "sigs.k8s.io/network-policy-api/conformance/utils/config"
)

// A whole test reads its pods under this one deadline, and two of them wait
// for six dropped connections of three seconds meanwhile: of the 20 seconds
// that are the default, a busy machine has none left. Upstream sets no most.
const getTimeout = time.Minute

func TestConformanceProfiles(t *testing.T) {
	conformance := newSuite(t)
	conformance.Setup(t)
	if err := conformance.Run(t, tests.ConformanceTests); err != nil {
		t.Fatal(err)
	}
	report, err := conformance.Report()
	must(t, err)
	text, err := yaml.Marshal(report)
	must(t, err)
	must(t, os.WriteFile(*flags.ReportOutput, text, 0o644))
}

func newSuite(t *testing.T) *suite.ConformanceProfileTestSuite {
	rest, err := config.GetConfig()
	must(t, err)
	objects, err := client.New(rest, client.Options{})
	must(t, err)
	must(t, v1alpha1.Install(objects.Scheme()))
	set, err := kubernetes.NewForConfig(rest)
	must(t, err)
	implementation, err := suite.ParseImplementation(*flags.ImplementationOrganization, *flags.ImplementationProject,
		*flags.ImplementationURL, *flags.ImplementationVersion, *flags.ImplementationContact,
		*flags.ImplementationAdditionalInformation)
	must(t, err)
	made, err := suite.NewConformanceProfileTestSuite(suite.ConformanceProfileOptions{
		Options: suite.Options{
			Client:               objects,
			ClientSet:            set,
			KubeConfig:           *rest,
			CleanupBaseResources: *flags.CleanupBaseResources,
			SupportedFeatures:    suite.ParseSupportedFeatures(*flags.SupportedFeatures),
			TimeoutConfig:        timeouts.TimeoutConfig{GetTimeout: getTimeout},
		},
		Implementation:      *implementation,
		ConformanceProfiles: suite.ParseConformanceProfiles(*flags.ConformanceProfiles),
	})
	must(t, err)
	return made
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
