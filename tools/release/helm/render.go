// Renders the chart the way `helm template` does, for a machine where helm cannot be installed: Go's own text/template
// with the functions of sprig, and of Helm's additions the three the chart uses. Run by tools/helm/render.sh.
// It is not Helm: no hooks, dependencies, lookups or capabilities. The chart uses none of them.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig"
	"gopkg.in/yaml.v3"
)

func main() {
	if len(os.Args) < 3 {
		fail(fmt.Errorf("use: render CHART RELEASE [VALUES-FILE...]"))
	}
	chart, release := os.Args[1], os.Args[2]
	values := readYaml(filepath.Join(chart, "values.yaml"))
	for _, file := range os.Args[3:] {
		overlay(values, readYaml(file))
	}
	facts := readYaml(filepath.Join(chart, "Chart.yaml"))
	data := map[string]interface{}{
		"Values":  values,
		"Release": map[string]interface{}{"Name": release, "Namespace": "chancery", "Service": "Helm"},
		"Chart":   map[string]interface{}{"Name": facts["name"], "Version": facts["version"], "AppVersion": facts["appVersion"]},
	}
	for _, text := range render(chart, data) {
		fmt.Println("---\n" + text)
	}
}

func render(chart string, data interface{}) []string {
	all := template.New("chart").Option("missingkey=zero")
	functions := sprig.TxtFuncMap()
	// Helm takes these away: a template must not read the machine it is rendered on.
	delete(functions, "env")
	delete(functions, "expandenv")
	functions["include"] = func(name string, about interface{}) (string, error) {
		var out strings.Builder
		err := all.ExecuteTemplate(&out, name, about)
		return out.String(), err
	}
	functions["toYaml"] = func(value interface{}) (string, error) {
		text, err := yaml.Marshal(value)
		return strings.TrimSuffix(string(text), "\n"), err
	}
	functions["required"] = func(message string, value interface{}) (interface{}, error) {
		if value == nil || value == "" {
			return nil, fmt.Errorf("%s", message)
		}
		return value, nil
	}
	all.Funcs(functions)
	files, err := filepath.Glob(filepath.Join(chart, "templates", "*"))
	fail(err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		fail(err)
		_, err = all.New(filepath.Base(file)).Parse(string(text))
		fail(err)
	}
	var rendered []string
	for _, file := range files {
		if filepath.Ext(file) != ".yaml" && filepath.Ext(file) != ".txt" {
			continue
		}
		var out strings.Builder
		fail(all.ExecuteTemplate(&out, filepath.Base(file), data))
		// The notes are for people: they must render, and are no manifest.
		if filepath.Ext(file) == ".yaml" {
			rendered = append(rendered, strings.TrimSpace(out.String()))
		}
	}
	return rendered
}

// As Helm does: tables are merged, null takes away, everything else is replaced.
func overlay(under, over map[string]interface{}) {
	for name, value := range over {
		below, isTable := under[name].(map[string]interface{})
		above, isAlso := value.(map[string]interface{})
		if value == nil {
			delete(under, name)
		} else if isTable && isAlso {
			overlay(below, above)
		} else {
			under[name] = value
		}
	}
}

func readYaml(file string) map[string]interface{} {
	text, err := os.ReadFile(file)
	fail(err)
	value := map[string]interface{}{}
	fail(yaml.Unmarshal(text, &value))
	return value
}

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
