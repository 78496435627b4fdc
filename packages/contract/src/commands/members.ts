import { REVOCATION_REASONS } from '@chancery/protocol'
import { type Command, DETACH, LIST_OPTIONS, OUT, REASON, REVOKING_OPTIONS, command } from './command.ts'

const NODE = { name: 'node', summary: 'A node: its folder, .pub file, key or certificate id', required: true } as const
const OF_NODE = {
  flags: '--node <node>',
  summary: 'Only of this node: folder, .pub file, key or certificate id',
} as const
const VALID_FOR = { flags: '--valid-for <time span>', summary: 'Wanted validity, for example 7d' } as const
const STATUS = { flags: '--status <text>', summary: 'Status shown to operators', default: 'healthy' } as const

export const inviteCommands: readonly Command[] = [
  command(
    'join',
    'Join a network with an invite',
    'Joins a network with an invite, or by the word of the platform this machine runs on, and stores key and certificate in a folder. Sends nothing before the server has proved that it is this network.',
    {
      options: [
        { flags: '--token-file <file>', summary: 'Invite, or with --platform its token; - reads standard input' },
        {
          flags: '--platform <name>',
          summary: 'Instead of an invite',
          choices: ['github', 'gitlab', 'kubernetes', 'spiffe', 'spiffe-x509', 'file'],
        },
        { flags: '--rule <name>', summary: 'With --platform: the admission rule' },
        VALID_FOR,
        { flags: '--trust-first-use', summary: 'Accept the network that answers; prints its fingerprint' },
      ],
      examples: [
        {
          line: 'chancery join --home ./agent --url http://127.0.0.1:8443 --genesis ./harbour/genesis.json --token-file agent.token',
          summary: 'Join exactly this network',
        },
        {
          line: 'chancery join --home ./agent --url https://na.example.org --genesis genesis.json --platform github --rule ci',
          summary: 'Join from a job of GitHub Actions',
        },
      ],
      needs: 'node',
    },
  ),
  command(
    'invite create',
    'Create an invite for a node',
    'Creates a single-use token for one node. The token is a secret and is shown only once.',
    {
      options: [
        { flags: '--role <role>', summary: 'Role of the node, for example role:client', repeatable: true },
        { flags: '--valid-for <time span>', summary: 'Maximum validity of its certificates', default: '7d' },
        { flags: '--expires-in <time span>', summary: 'Validity of the invite', default: '24h' },
        { flags: '--node <node>', summary: 'Only node key that may use it: folder, .pub file or base64' },
        { flags: '--label <text>', summary: 'Name of the node for operators, 1 to 64 characters' },
        { flags: '--out <file>', summary: 'Write the token to a new private file and do not print it' },
        { flags: '--count <n>', summary: 'Number of invites, 1 to 1000; one token per line in the file of --out' },
        { flags: '--print', summary: 'With --count: print the tokens instead of writing a file' },
      ],
      examples: [
        { line: 'chancery invite create', summary: 'Create an invite for any node, with role:client' },
        {
          line: 'chancery invite create --role role:anchor --role role:bridge --node ./node.pub --out invite.token',
          summary: 'Two roles, one node key, token not printed',
        },
        { line: 'chancery invite create --count 500 --out fleet.tokens', summary: 'Create 500 invites, all or none' },
      ],
      needs: 'operator',
    },
  ),
  command(
    'invite list',
    'List invites and admission rules',
    'Lists invites by token fingerprint, with their creator and state, and admission rules with the number of their joins. A token cannot be shown again.',
    {
      options: [
        {
          flags: '--state <word>',
          summary: 'State of the invites and rules',
          choices: ['open', 'used', 'withdrawn', 'expired', 'all'],
          default: 'open',
        },
        { flags: '--created-by <key_id>', summary: 'Only invites of this operator key' },
        { flags: '--batch <id>', summary: 'Only invites of this batch' },
        { flags: '--rules', summary: 'Admission rules only' },
        { flags: '--tokens', summary: 'Invites only' },
        ...LIST_OPTIONS,
      ],
      examples: [
        { line: 'chancery invite list', summary: 'List open invites and rules in force' },
        { line: 'chancery invite list --created-by ops-2 --state all --all', summary: 'All invites of one operator' },
      ],
      needs: 'operator',
    },
  ),
  command(
    'invite withdraw',
    'Withdraw invites and admission rules',
    'Withdraws unused invites, and ends admission rules permanently. A standard key can withdraw its own invites, a privileged key all. Nodes that have joined are not affected; the output names certificates of a rule for chancery node revoke.',
    {
      arguments: [
        { name: 'invite', summary: 'Fingerprints of invites, names of rules', required: false, variadic: true },
      ],
      options: [
        { flags: '--created-by <key_id>', summary: 'All open invites of this operator key' },
        { flags: '--batch <id>', summary: 'All open invites of this batch' },
        { ...REASON, default: 'unspecified' },
        ...REVOKING_OPTIONS,
      ],
      examples: [
        { line: 'chancery invite withdraw 96149fd8297ceb40', summary: 'Show the preview, ask, then withdraw' },
        { line: 'chancery invite withdraw ci --yes', summary: 'Stop joins and renewals by a rule at once' },
        { line: 'chancery invite withdraw --created-by ops-2 --yes', summary: 'All open invites of a stolen key' },
      ],
      needs: 'operator',
    },
  ),
  command(
    'invite rule add',
    'Add an admission rule',
    'Lets identities of another platform join without an invite. The authority signs the rule, and it cannot be changed afterwards. A rule must name an identity, not only an issuer.',
    {
      arguments: [{ name: 'rule_id', summary: 'Name of the rule, 1 to 64 characters', required: true }],
      options: [
        { flags: '--github <repository>', summary: 'Tokens of GitHub Actions for owner/name; needs --repository-id' },
        { flags: '--repository-id <id>', summary: 'GitHub: number of the repository' },
        { flags: '--owner-id <id>', summary: 'GitHub: number of the owner' },
        { flags: '--environment <name>', summary: 'GitHub and GitLab: only this environment' },
        { flags: '--ref <ref>', summary: 'GitHub and GitLab: only this ref, for example refs/heads/main' },
        { flags: '--gitlab <url>', summary: 'Tokens of a GitLab instance, for example https://gitlab.com' },
        { flags: '--project-id <id>', summary: 'GitLab: number of the project' },
        { flags: '--protected', summary: 'GitLab: only protected refs' },
        { flags: '--kubernetes <issuer>', summary: 'Tokens of a cluster: its issuer address' },
        { flags: '--namespace <name>', summary: 'Kubernetes: namespace of the service account' },
        { flags: '--service-account <name>', summary: 'Kubernetes: name of the service account' },
        { flags: '--service-account-uid <uid>', summary: 'Kubernetes: uid of the service account' },
        { flags: '--issuer <url>', summary: 'Tokens of any OpenID Connect issuer' },
        { flags: '--trust-domain <name>', summary: 'SVIDs of a SPIFFE trust domain' },
        { flags: '--spiffe-id <id>', summary: 'SPIFFE: an identity that may join', repeatable: true },
        { flags: '--svid <form>', summary: 'SPIFFE: form of the SVIDs', choices: ['jwt', 'x509'], default: 'jwt' },
        { flags: '--expired-certificates', summary: 'Nodes of this network whose certificate expired; needs --grace' },
        { flags: '--grace <time span>', summary: 'Time after its end during which a certificate admits its node' },
        { flags: '--claim <name=value>', summary: 'A claim that must have this value', repeatable: true },
        { flags: '--keys-url <url>', summary: 'Where the issuer publishes its keys or its trust bundle' },
        { flags: '--keys-file <file>', summary: 'Pin the keys: a JWK set or SPIFFE bundle in a file' },
        { flags: '--plain-audience', summary: 'For platforms with a fixed audience: it names the authority only' },
        { flags: '--algorithm <name>', summary: 'A signature algorithm; default RS256 and ES256', repeatable: true },
        { flags: '--role <role>', summary: 'Role of the nodes, for example role:client', repeatable: true },
        { flags: '--valid-for <time span>', summary: 'Maximum validity of certificates, 1h to 24h', default: '2h' },
        { flags: '--max-joins <n>', summary: 'The rule ends after so many joins' },
        { flags: '--valid-from <time>', summary: 'Start of the rule' },
        { flags: '--expires <time>', summary: 'End of the rule' },
      ],
      examples: [
        {
          line: 'chancery invite rule add ci --github acme/print --repository-id 456789 --environment production --role role:client',
          summary: 'One repository of GitHub, only its environment production',
        },
        {
          line: 'chancery invite rule add api --trust-domain prod.example --spiffe-id spiffe://prod.example/api --keys-url https://spire.example/bundle',
          summary: 'One workload of SPIFFE',
        },
        {
          line: 'chancery invite rule add again --expired-certificates --grace 72h --role role:client',
          summary: 'Nodes that were off for up to three days after their certificate ended',
        },
      ],
      needs: 'operator',
    },
  ),
  command(
    'invite rule test',
    'Test an admission rule',
    'Says whether a rule would admit a token, and why not. No node joins, and the token can still be used. Exit code 1 if it would not.',
    {
      arguments: [{ name: 'rule_id', summary: 'Name of the rule', required: true }],
      options: [
        { flags: '--token-file <file>', summary: 'File with the token; - or none reads standard input' },
        { flags: '--node <node>', summary: 'Node key that the audience must name' },
      ],
      examples: [
        { line: 'chancery invite rule test ci --token-file token.jwt', summary: 'Would this token be admitted?' },
      ],
      needs: 'operator',
    },
  ),
]

export const nodeCommands: readonly Command[] = [
  command(
    'node run',
    'Run a node',
    'Sends heartbeats at the interval of the authority, renews the certificate and fetches the policy when it changes. Runs until it is stopped. Prints JSON lines unless it runs on a terminal.',
    {
      options: [
        STATUS,
        { flags: '--crl', summary: 'Also fetch the revocation list when it changes' },
        { flags: '--once', summary: 'Send one heartbeat, and end' },
        DETACH,
      ],
      examples: [
        { line: 'chancery node run --home ./node', summary: 'Run in a terminal or as a service' },
        { line: 'chancery node run --home ./node --once', summary: 'Send one heartbeat' },
      ],
      needs: 'node',
    },
  ),
  command(
    'node renew',
    'Renew a certificate',
    'Replaces the certificate by a new one with the same key and roles. A node that joined by a platform gets a fresh token of it. node run renews certificates automatically.',
    {
      options: [VALID_FOR],
      examples: [{ line: 'chancery node renew --home ./node', summary: 'Renew with the same validity' }],
      needs: 'node',
    },
  ),
  command(
    'node call',
    'Send one signed HTTP request',
    'Sends a request to a service, with the proof that a node of this network makes it. With --print-headers it sends nothing and prints the header fields of the proof, which are valid for 60 seconds. Exit code 1 if the service answers with an error.',
    {
      arguments: [{ name: 'address', summary: 'Address of the request', required: true }],
      options: [
        { flags: '--method <name>', summary: 'Method of the request', default: 'GET' },
        { flags: '--body <file>', summary: 'Body of the request, which is signed' },
        { flags: '--header <name=value>', summary: 'Another field of the request', repeatable: true },
        { flags: '--audience <name>', summary: 'Name of the service; default: the origin of the address' },
        {
          flags: '--profile <word>',
          summary: 'How the request is proved',
          choices: ['signature', 'wimse'],
          default: 'signature',
        },
        { flags: '--print-headers', summary: 'Print the header fields, and send nothing' },
      ],
      examples: [
        { line: 'chancery node call https://print.example/jobs --home ./node', summary: 'Call a service' },
        {
          line: 'chancery node call https://print.example/jobs?page=1 --home ./node --profile wimse --print-headers > headers.txt',
          summary: 'Then: curl --header @headers.txt https://print.example/jobs?page=1',
        },
      ],
      needs: 'node',
    },
  ),
  command(
    'node list',
    'List nodes or certificates',
    'Lists active nodes with roles and last heartbeat; with --certificates every issued certificate, newest first, with its state. Without an operator key it prints the number of active nodes, which is public.',
    {
      options: [
        { flags: '--certificates', summary: 'One row for each certificate' },
        {
          flags: '--state <word>',
          summary: 'Only certificates in this state',
          choices: ['valid', 'superseded', 'expired', 'revoked'],
        },
        { flags: '--label <text>', summary: 'Only nodes whose label contains this text, in any case' },
        OF_NODE,
        { flags: '--role <role>', summary: 'Only certificates with this role' },
        { flags: '--expires-before <time>', summary: 'Only certificates that end before this time' },
        ...LIST_OPTIONS,
      ],
      examples: [
        { line: 'chancery node list', summary: 'Active nodes' },
        {
          line: 'chancery node list --certificates --label berlin --state valid --all',
          summary: 'All valid certificates of labelled nodes',
        },
      ],
    },
  ),
  command(
    'node show',
    'Show one node',
    'Prints a node with its certificates, heartbeats, agent, invite and audit events.',
    {
      arguments: [NODE],
      examples: [{ line: 'chancery node show ./node', summary: 'Everything about this node' }],
      needs: 'operator',
    },
  ),
  command(
    'node label',
    'Label a node',
    'Names a node key for operators. The label stays with the key over renewals. It is shown to operators only and has no effect on trust.',
    {
      arguments: [NODE, { name: 'label', summary: 'The label, 1 to 64 characters', required: false }],
      options: [{ flags: '--remove', summary: 'Remove the label' }],
      examples: [
        { line: 'chancery node label ./node.pub "Berlin 3"', summary: 'Name a node' },
        { line: 'chancery node label ./node.pub --remove', summary: 'Remove the name' },
      ],
      needs: 'operator',
    },
  ),
  command(
    'node revoke',
    'Revoke certificates',
    'Revokes certificates permanently, with all other certificates of the same node keys, and publishes the new revocation list. Up to 1000 certificates are named per call. If an id is unknown, the call changes nothing.',
    {
      arguments: [
        { name: 'certificate', summary: 'Certificate id, or a certificate.json file', required: false, variadic: true },
      ],
      options: [
        {
          flags: '--reason <word>',
          summary: 'Reason; key_compromise also blocks the node key permanently',
          default: 'unspecified',
          choices: REVOCATION_REASONS,
        },
        { flags: '--only-this', summary: 'Keep other certificates of the same node keys; they are listed' },
        { flags: '--file <file>', summary: 'File with one id per line; lines starting with # are comments' },
        { flags: '--forgotten', summary: 'After a restore: send the certificate files, so that unknown ones end, too' },
        { flags: '--node <node>', summary: 'After a restore: node key of the id, to revoke an unknown certificate' },
        ...REVOKING_OPTIONS,
      ],
      examples: [
        {
          line: 'chancery node revoke 7d1c0f5a-2b3c-4d5e-8f60-718293a4b5c6 --reason cessation_of_operation',
          summary: 'Show the preview, ask, then revoke',
        },
        {
          line: 'chancery node revoke --file ids.txt --reason key_compromise --yes',
          summary: 'Revoke after an incident',
        },
      ],
      needs: 'operator',
    },
  ),
]

export const agentCommands: readonly Command[] = [
  command(
    'agent register',
    'Register an agent',
    'Registers the agent of a node, refreshes the registration until the process is stopped, and then removes it. The fields come from options, from an A2A agent card, or from both. An option overrides the card.',
    {
      options: [
        { flags: '--agent-id <id>', summary: 'Name of the agent' },
        {
          flags: '--capability <tag>',
          summary: 'Capability of the agent; searches match it exactly',
          repeatable: true,
        },
        { flags: '--endpoint <url>', summary: 'Endpoint of the agent, for example wss://host:7448' },
        { flags: '--metadata <name=value>', summary: 'Text shown with the registration', repeatable: true },
        { flags: '--card <file>', summary: 'A2A agent card (agent-card.json) with the fields' },
        { flags: '--card-url <url>', summary: 'URL of the published card; default: the well-known path of its host' },
        { flags: '--valid-for <time span>', summary: 'Validity; refreshed after half of it', default: '600s' },
        { flags: '--once', summary: 'Register once and exit; the registration then expires' },
      ],
      examples: [
        {
          line: 'chancery agent register --home ./node --agent-id llm-1 --capability llm:chat --endpoint wss://agent.example.org:7448',
          summary: 'Run until stopped and refresh the registration',
        },
        { line: 'chancery agent register --home ./node --card agent-card.json --once', summary: 'Once, from a card' },
      ],
      needs: 'node',
    },
  ),
  command(
    'agent list',
    'List registered agents',
    'Lists registered agents, newest first, and checks every signature. Without an operator key it finds agents by --capability or --node, which is public. Agents registered with an earlier release have no host in searches until they register again.',
    {
      options: [
        { flags: '--search <text>', summary: 'Only agents whose id, host or capability begins with this text' },
        { flags: '--capability <tag>', summary: 'Only agents with exactly this capability' },
        { flags: '--host <name>', summary: 'Only agents whose endpoint has exactly this host' },
        OF_NODE,
        {
          flags: '--state <word>',
          summary: 'Only agents of nodes in this state',
          choices: ['active', 'ends_soon', 'silent', 'superseded', 'revoked', 'expired'],
        },
        { flags: '--expires-before <time>', summary: 'Only registrations that end before this time' },
        { flags: '--count-by <word>', summary: 'Count the agents of each capability', choices: ['capability'] },
        { flags: '--card', summary: 'Print A2A agent cards; agents with an invalid signature are omitted' },
        ...LIST_OPTIONS,
      ],
      examples: [
        { line: 'chancery agent list', summary: 'The 50 newest agents' },
        { line: 'chancery agent list --capability llm:chat --all --card --json', summary: 'As cards, for a program' },
        { line: 'chancery agent list --count-by capability', summary: 'The most common capabilities' },
      ],
    },
  ),
  command('agent remove', 'Remove an agent', 'Removes the agent of a node from the registry.', {
    examples: [{ line: 'chancery agent remove --home ./node', summary: 'Remove the agent before the node stops' }],
    needs: 'node',
  }),
  command(
    'agent sign-card',
    'Sign an A2A agent card with the node key',
    'Prints the card of a file with the certificate of the node and its signature. Refuses a card whose signed bytes depend on the writer, and names what to change. Makes no call.',
    {
      arguments: [{ name: 'file', summary: 'A2A 1.0 agent card (agent-card.json)', required: true }],
      options: [
        { flags: '--crl-url <url>', summary: 'Address of the revocation list for readers; default: <authority>/crl' },
      ],
      examples: [
        {
          line: 'chancery agent sign-card agent-card.json --home ./node > signed.json',
          summary: 'Sign a card before it is published',
        },
      ],
      needs: 'node',
    },
  ),
  command(
    'agent guard-mcp',
    'Put a gate in front of an MCP server',
    'Passes messages of the Model Context Protocol between a client and a server. Each tool call and each read of a resource or prompt needs a decision of the authority, and leaves signed evidence; a denied call returns a result that a model understands. With --pin it approves the tools of the server instead: a guard refuses a tool whose digest is not stored.',
    {
      arguments: [
        {
          name: 'command',
          summary: 'Command of the server and its arguments, after --',
          required: false,
          variadic: true,
        },
      ],
      options: [
        { flags: '--server <name>', summary: 'Name of the server in capabilities: mcp:<name>:<tool>' },
        { flags: '--rules <file>', summary: 'Rules file; default: mcp.yaml in the folder of the node' },
        { flags: '--upstream <url>', summary: 'Address of a server that is reached by HTTP' },
        { flags: '--prove <audience>', summary: 'With --upstream: prove each request to the server of this name' },
        { flags: '--listen <address>', summary: 'With --upstream: address for clients', default: '127.0.0.1:9000' },
        { flags: '--pin', summary: 'Approve the tools as they are now, and end' },
      ],
      examples: [
        {
          line: 'chancery agent guard-mcp --home ./agent --server files --rules guard.yaml -- npx some-mcp-server ./data',
          summary: 'Guard a server that the guard starts',
        },
        {
          line: 'chancery agent guard-mcp --home ./agent --server files --rules guard.yaml --pin -- npx some-mcp-server ./data',
          summary: 'Approve its tools first',
        },
        {
          line: 'chancery agent guard-mcp --listen 127.0.0.1:9000 --upstream https://tools.example/mcp --home ./agent',
          summary: 'Guard a server that is reached by HTTP',
        },
      ],
      needs: 'node',
    },
  ),
]

export const attestationCommands: readonly Command[] = [
  command(
    'attestation issue',
    'Issue a membership attestation',
    'Signs that a person, agent or service is a member of this network. Partner networks can verify the record.',
    {
      arguments: [{ name: 'subject', summary: 'Name of the member, 1 to 256 characters', required: true }],
      options: [
        { flags: '--role <role>', summary: 'Role of the member', repeatable: true, required: true },
        { flags: '--valid-for <time span>', summary: 'Validity, 1h to 26280h', default: '7d' },
        { flags: '--node <node>', summary: 'Node whose key the attestation is bound to' },
        { flags: '--capability <name>', summary: 'Capability that decisions may allow', repeatable: true },
        { flags: '--claim <name=value>', summary: 'Another claim', repeatable: true },
        { flags: '--claims <file>', summary: 'JSON file with claims' },
        OUT,
      ],
      examples: [
        {
          line: 'chancery attestation issue pay-agent --role role:client --capability invoice.pay --node ./agent --out pay-agent.json',
          summary: 'For an agent, bound to its node key',
        },
      ],
      needs: 'operator',
    },
  ),
  command(
    'attestation list',
    'List attestations',
    'Lists the attestations of this network, oldest first. A network may show only the count to unauthenticated callers.',
    {
      options: [
        { flags: '--subject <id>', summary: 'Only attestations of this member' },
        { flags: '--state <word>', summary: 'Only attestations in this state', choices: ['active', 'revoked'] },
        { flags: '--signed', summary: 'Sign the request as operator, to get the entries and not only the count' },
        ...LIST_OPTIONS,
      ],
      examples: [{ line: 'chancery attestation list --state active', summary: 'What is in force' }],
    },
  ),
  command(
    'attestation revoke',
    'Revoke an attestation',
    'Revokes an attestation permanently and publishes it in the revocation feed for partners.',
    {
      arguments: [{ name: 'id', summary: 'Id of the attestation', required: true }],
      options: [{ ...REASON, default: 'unspecified' }, ...REVOKING_OPTIONS],
      examples: [
        {
          line: 'chancery attestation revoke a77e57a7-0000-4000-8000-000000000001 --reason left',
          summary: 'Show the preview, ask, then revoke',
        },
      ],
      needs: 'operator',
    },
  ),
]
