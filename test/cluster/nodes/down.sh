#!/usr/bin/env bash
# Takes the cluster down and removes all that up.sh made, however far it came, or is.
set -uo pipefail
. "$(dirname "$0")/../env.sh"
. "$cluster/nodes/lifecycle.sh"

# Of what it makes, `up` makes the options first; `down` removes them last.
rmdir "$state" 2>/dev/null
[ ! -e "$state" ] || [ -e "$state/options" ] || die "$state is no cluster's: up did not make it, and it is left as it is"

end_up
for ns in $(ip netns list | sed -nE "s/^($prefix-(cp|node[0-9]+))( .*)?$/\1/p"); do end "$ns"; done
remove_cgroups "$prefix-node[0-9]"
remove_cgroups "$prefix-node[0-9][0-9]"
if [ -e "$state" ]; then
  find "$state" -mindepth 1 -maxdepth 1 ! -name options -exec rm -rf {} +
  rm -rf "$state"
fi
# The last cluster sets back what the first one's kubelets have set for the whole machine.
if [ -z "$(compgen -G "$states/*/options")" ]; then
  [ ! -e "$states/sysctl" ] || sysctl -qp "$states/sysctl"
  rm -f "$states/sysctl"
  rmdir "$states" 2>/dev/null # unless there is something of somebody else's
fi
[ ! -e "$state" ] || die "$state could not be removed"
