package commandfiles

import (
	"slices"
	"strings"
)

// codeVariables are variables that can make programs load or run other code, or use another
// directory or server. A trailing "*" matches all names with that prefix.
var codeVariables = []string{
	"PATH", "HOME", "LD_*", "DYLD_*", "NODE_*", "PYTHON*", "RUBY*", "PERL5*", "JAVA_*", "_JAVA_OPTIONS", "JDK_*", "CLASSPATH",
	"BASH_ENV", "ENV", "ZDOTDIR", "SHELL", "IFS", "GIT_*", "SSH_*", "npm_config_*", "NPM_CONFIG_*", "YARN_*", "UV_*", "PIP_*",
	"DOTNET_*", "GCONV_PATH", "DOCKER_*", "KUBECONFIG", "XDG_*", "EDITOR", "VISUAL", "PAGER", "BROWSER", "DENO_*", "BUN_*", "GO*",
	"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy", "PYENV_*", "ASDF_*", "VOLTA_*", "NVM_*",
}

// DecidesCode reports whether a variable can make programs load or run other code, or use another
// directory or server. Variables whose names say that they hold a secret are left out.
func DecidesCode(name string) bool {
	upper := strings.ToUpper(name)
	for _, word := range []string{"TOKEN", "SECRET", "PASS", "AUTH", "KEY", "CREDENTIAL"} {
		if strings.Contains(upper, word) {
			return false
		}
	}
	return slices.ContainsFunc(codeVariables, func(pattern string) bool {
		prefix, many := strings.CutSuffix(pattern, "*")
		return name == pattern || many && strings.HasPrefix(name, prefix)
	})
}

// LoadsFiles reports whether interpreters load the files that a variable names.
func LoadsFiles(name string) bool {
	return slices.ContainsFunc(loadingVariables, func(prefix string) bool { return strings.HasPrefix(strings.ToLower(name), prefix) }) || name == "ENV"
}

// loadingVariables are the beginnings of the names of such variables, in small letters.
var loadingVariables = []string{
	"node_", "python", "ruby", "perl5", "java_", "_java_", "jdk_", "bash_env", "ld_", "dyld_", "npm_config_", "deno_", "bun_", "lua_", "phprc", "ts_node_", "openssl_conf",
	"uv_", "pip_", "pipx_", "poetry_", "pipenv_", "yarn_", "bundle_", "cargo_", "docker_", "compose_", "makefiles", "just_", "task_",
	"zdotdir", "mise_", "asdf_", "rtx_", "r_profile", "r_environ", "octave_", "direnv_", "erl_", "julia_",
}
