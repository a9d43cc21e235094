// Says of each object on standard input, one a line as JSON, what the API server of Kubernetes says when it is created:
// the fields of which it refuses what is there, and its warnings. The answer is a line of JSON, too.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"os"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	_ "k8s.io/kubernetes/pkg/apis/networking/install"
	"k8s.io/kubernetes/pkg/registry/networking/networkpolicy"
)

type answer struct {
	// Absent where it is taken.
	Refused  []string `json:"refused,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
}

var kind = schema.GroupVersionKind{Group: "networking.k8s.io", Version: "v1", Kind: "NetworkPolicy"}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 64<<20)
	out := json.NewEncoder(os.Stdout)
	for lines.Scan() {
		if err := out.Encode(create(lines.Bytes())); err != nil {
			panic(err)
		}
	}
	if err := lines.Err(); err != nil {
		panic(err)
	}
}

// create is what an API server does with a new object, after authorization and before it is stored. kubectl asks for
// strict decoding, so an unknown field is refused too.
func create(text []byte) answer {
	scheme := legacyscheme.Scheme
	strict := kjson.NewSerializerWithOptions(kjson.DefaultMetaFactory, scheme, scheme, kjson.SerializerOptions{Strict: true})
	versioned, _, err := strict.Decode(text, &kind, nil)
	if err != nil {
		return answer{Refused: []string{err.Error()}}
	}
	scheme.Default(versioned)
	internal, err := scheme.UnsafeConvertToVersion(versioned, runtime.InternalGroupVersioner)
	if err != nil {
		return answer{Refused: []string{err.Error()}}
	}
	ctx := request.WithNamespace(request.NewContext(), "default")
	ctx = request.WithRequestInfo(ctx, &request.RequestInfo{APIGroup: kind.Group, APIVersion: kind.Version, Resource: "networkpolicies"})
	return validate(ctx, networkpolicy.Strategy, internal)
}

func validate(ctx context.Context, strategy rest.RESTCreateStrategy, object runtime.Object) answer {
	meta := object.(metav1.Object)
	if meta.GetNamespace() == "" {
		meta.SetNamespace("default")
	}
	strategy.PrepareForCreate(ctx, object)
	var refused []string
	for _, each := range strategy.Validate(ctx, object) {
		refused = append(refused, each.Error())
	}
	if refused != nil {
		return answer{Refused: refused}
	}
	return answer{Warnings: strategy.WarningsOnCreate(ctx, object)}
}
