#!/usr/bin/env bash
# Runs the example from start to end in a new folder, and stops everything that it started. README.md explains each step.
#
#   bash examples/agent-tools/run.sh [FOLDER]
#
# FOLDER must be new or empty. Other ports: set the six variables below.
set -euo pipefail
EXAMPLES=$(cd "$(dirname "$0")/.." && pwd)
export PATH="$EXAMPLES/../node_modules/.bin:$PATH:/usr/sbin" NO_COLOR=1
: "${PORT_HARBOUR:=8443}" "${PORT_NORTHWIND:=8444}" "${PORT_GATEWAY:=8445}"
: "${PORT_CHECK:=8081}" "${PORT_NGINX:=8000}" "${PORT_TOOLS:=9000}"

HARBOUR=http://127.0.0.1:$PORT_HARBOUR
NORTHWIND=http://127.0.0.1:$PORT_NORTHWIND
export TOOLS=http://127.0.0.1:$PORT_NGINX

fail() { echo "$*" >&2; exit 1; }
command -v nginx > /dev/null || fail 'nginx is missing. On Debian: apt-get install nginx-light'
[ -e "$EXAMPLES/../apps/cli/dist/main.js" ] || fail 'Build first, in the checkout: npm ci && npm run build'
FOLDER=${1:-$(mktemp -d)}
mkdir -p "$FOLDER" && cd "$FOLDER"
[ -z "$(ls -A)" ] || fail "$FOLDER is not empty."
echo "All files are in $FOLDER."

# The folder belongs to this user. Started by root, nginx would change to another one.
AS_ROOT=$([ "$(id -u)" != 0 ] || echo 'user root;')

step() { printf '\n== %s\n' "$*"; }
# Ends only programs that this script started, by their ids.
stop_all() {
  local ids
  ids="$(jobs -p) $(cat gateway/gateway.pid 2> /dev/null || true)"
  kill $ids 2> /dev/null || true
  for try in $(seq 300); do kill -0 $ids 2> /dev/null || break; sleep 0.1; done
}
trap stop_all EXIT

step '1. Two organisations, two authorities'
chancery init --home ./harbour --name HARBOUR --port "$PORT_HARBOUR"
chancery init --home ./northwind --name NORTHWIND --port "$PORT_NORTHWIND"
sed -i '/^NA_NODE_DECISIONS=/d' ./harbour/authority.env
cat "$EXAMPLES/agent-tools/harbour.env" >> ./harbour/authority.env
chancery authority start --env-file ./harbour/authority.env > harbour.log 2>&1 &
chancery authority start --env-file ./northwind/authority.env > northwind.log 2>&1 &
timeout 60 sh -c 'until chancery node list --home ./harbour --quiet 2> /dev/null; do sleep 0.5; done'
timeout 60 sh -c 'until chancery node list --home ./northwind --quiet 2> /dev/null; do sleep 0.5; done'

step '2. NORTHWIND gives its agent a certificate and an attestation'
chancery invite create --role role:client --out agent.token --home ./northwind --quiet
chancery join --home ./agent --url "$NORTHWIND" --genesis ./northwind/genesis.json --token-file agent.token
chancery attestation issue dispatch-agent --role role:client --node ./agent/node.pub \
  --capability mcp:notes:read_note --capability mcp:notes:delete_note --out agent.json --home ./northwind

step '3. HARBOUR signs a treaty and a policy'
chancery partner add "$NORTHWIND" --root-key ./northwind/keys/root.pub --role role:client \
  --capability mcp:notes:read_note --import-feeds --yes --home ./harbour
timeout 60 sh -c 'until chancery partner pull NORTHWIND --home ./harbour --quiet 2> /dev/null; do sleep 1; done'
chancery policy publish "$EXAMPLES/agent-tools/notes.policy.yaml" --home ./harbour
chancery policy activate notes 1 --yes --home ./harbour

step '4. HARBOUR starts gateway, tools and nginx'
chancery gateway init --genesis ./harbour/genesis.json --home ./gateway --port "$PORT_GATEWAY" --role role:client
chancery gateway network add --home ./gateway --url "$NORTHWIND" --root-key ./northwind/keys/root.pub \
  --role role:client --every 10s
sed "s|TOOLS|$TOOLS|" "$EXAMPLES/agent-tools/check.json" > check.json
node "$EXAMPLES/http-check/add-check.ts" ./gateway check.json "127.0.0.1:$PORT_CHECK"
chancery gateway start --env-file ./gateway/gateway.env --detach

chancery invite create --role role:relay --out relay.token --home ./harbour --quiet
chancery join --home ./relay --url "$HARBOUR" --genesis ./harbour/genesis.json --token-file relay.token --quiet
chancery keygen executor --out executor --key-id notes-1
chancery evidence key add notes-1 --key executor.pub --executor notes --home ./harbour
NA_URL="$HARBOUR" GATEWAY="http://127.0.0.1:$PORT_GATEWAY" AUDIENCE="$TOOLS" PORT="$PORT_TOOLS" \
  node "$EXAMPLES/agent-tools/tools.ts" > tools.log 2>&1 &
timeout 60 sh -c 'until grep -s listening tools.log; do sleep 0.2; done'

mkdir nginx
sed "s/:8000/:$PORT_NGINX/; s/:8081/:$PORT_CHECK/; s/:9000/:$PORT_TOOLS/" "$EXAMPLES/http-check/nginx.conf" > nginx/nginx.conf
cp "$EXAMPLES/http-check/chancery-headers.conf" nginx/
nginx -p "$PWD/nginx" -e stderr -c nginx.conf -g "daemon off; $AS_ROOT" 2> nginx.log &
for try in $(seq 100); do curl -s -o answer.html "$TOOLS/mcp" && break; sleep 0.2; done

step '5. The agent calls tools'
node "$EXAMPLES/agent-tools/agent.ts" read_note todo
node "$EXAMPLES/agent-tools/agent.ts" delete_note todo | tee denied.txt || true
node "$EXAMPLES/agent-tools/agent.ts" read_note salaries || true

step '6. A caller without a proof'
curl -s -o answer.html -w '%{http_code}\n' "$TOOLS/mcp" --data '{}'

step '7. NORTHWIND revokes its agent'
chancery node revoke ./agent/certificate.json --reason key_compromise --yes --home ./northwind
EXPECT=403 node "$EXAMPLES/agent-tools/agent.ts"
node "$EXAMPLES/agent-tools/agent.ts" read_note todo || echo 'the agent has no access'

step '8. HARBOUR hands its evidence to an auditor'
mkdir audit
DENIED=$(grep -o 'Decision [0-9a-f-]\{36\}' denied.txt | cut -d ' ' -f 2)
chancery evidence anchor --out audit/anchors --home ./harbour
chancery evidence pack "$DENIED" --attestation agent.json --out audit/denied.json --home ./harbour
chancery evidence export --out audit/evidence.jsonl --home ./harbour
chancery evidence key list --json --home ./harbour > audit/executor-keys.json
cp ./harbour/genesis.json audit/
stop_all
echo 'Both authorities, the gateway, nginx and the tools are stopped.'

step '9. The auditor verifies offline'
cd audit
chancery verify denied.json --genesis genesis.json
chancery verify evidence.jsonl --with anchors --with executor-keys.json --genesis genesis.json

step '10. One changed byte is found'
sed '1s/todo/toda/' evidence.jsonl > changed.jsonl
cmp evidence.jsonl changed.jsonl || true
chancery verify changed.jsonl --with anchors --with executor-keys.json --genesis genesis.json \
  || echo 'the change is found'
