import { TOKEN_OPTIONS, gatewayTokens } from './gateway-tokens.ts'
import { REVOCATION_REASONS } from '@chancery/protocol'
import { OPERATOR_TIERS } from '../operators-file.ts'
import { type Command, type CommandOption, DETACH, FORCE, OUT, REASON, REVOKING_OPTIONS, YES } from './command.ts'
import { command } from './command.ts'

/** Forms in which audit events leave a service. `json` is the event itself. */
export const AUDIT_FORMATS = ['json', 'ocsf', 'cloudevents'] as const
export type AuditFormat = (typeof AUDIT_FORMATS)[number]

export const AUDIT_FORMAT_OPTION: CommandOption = {
  flags: '--format <word>',
  summary: 'Form of each event: as stored, OCSF 1.8 or CloudEvents 1.0',
  default: 'json',
  choices: AUDIT_FORMATS,
}

/** Of the commands that start a service: settings without a folder, for units and containers. */
export const ENV_FILE: CommandOption = {
  flags: '--env-file <file>',
  summary: 'File with settings; environment variables override it',
}

export const authorityCommands: readonly Command[] = [
  command(
    'authority start',
    'Run the network authority',
    'Starts the service and runs until it is stopped. Settings come from --home, --env-file or the environment; every option has a setting with the same meaning.',
    {
      options: [
        ENV_FILE,
        { flags: '--na-private-key <file>', summary: 'Private key file of the authority (NA_PRIVATE_KEY_FILE)' },
        { flags: '--key-id <id>', summary: 'Key id written into signatures (NA_KEY_ID)', default: 'na-2025-q1' },
        {
          flags: '--operator-public-key <key-id=key>',
          summary: 'Operator key: base64 or a .pub file (OPERATOR_PUBLIC_KEYS_JSON)',
          repeatable: true,
        },
        {
          flags: '--operator-key-tier <key-id=tier>',
          summary: 'Tier of an operator key, standard or privileged; adds to OPERATOR_KEY_TIERS_JSON',
          repeatable: true,
        },
        { flags: '--db-path <file>', summary: 'SQLite file (DB_PATH)', default: 'chancery.db' },
        {
          flags: '--boundary-policy-enforcement <mode>',
          summary: 'required allows nothing to which no policy applied (BOUNDARY_POLICY_ENFORCEMENT)',
          default: 'optional',
          choices: ['optional', 'required'],
        },
        {
          flags: '--evidence-store <mode>',
          summary: 'Whether decisions and evidence are stored (EVIDENCE_STORE)',
          default: 'off',
          choices: ['off', 'on'],
        },
        { flags: '--host <address>', summary: 'Listening address (HOST)', default: '127.0.0.1' },
        { flags: '--port <n>', summary: 'Listening port (PORT)', default: '8443' },
        { flags: '--management-addr <address:port>', summary: 'Second listener for metrics (NA_MANAGEMENT_ADDR)' },
        DETACH,
      ],
      examples: [
        { line: 'chancery authority start --home ./harbour', summary: 'Run the authority of a folder' },
        { line: 'chancery authority start --env-file /etc/chancery/authority.env', summary: 'Run as a service' },
      ],
      needs: 'authority-host',
    },
  ),
  command(
    'authority verify',
    'Check every record of the database',
    'Verifies every signature, the sequences and entries of lists and feeds, the active policy versions, the evidence chain with its anchors, and the audit events. Changes nothing. Exit code 1 if a check fails.',
    {
      examples: [{ line: 'chancery authority verify --home /etc/chancery', summary: 'Check it after a restore' }],
      needs: 'authority-host',
    },
  ),
  command(
    'authority migrate',
    'Migrate the database to this release',
    'Applies the migrations of this release to the database of the settings, as a start does before it serves, and ends. With --from it copies an SQLite authority into the empty PostgreSQL database of DATABASE_URL, reads every row back and verifies every record. The source must not be in use and is not changed; an authority does not start on an incomplete copy.',
    {
      options: [
        { flags: '--from <file>', summary: 'SQLite file of the stopped authority to copy' },
        { flags: '--restart', summary: 'Delete an incomplete copy and copy again' },
      ],
      examples: [
        { line: 'chancery authority migrate --home /etc/chancery', summary: 'Before a new release starts' },
        { line: 'chancery authority migrate --from chancery.db --home /etc/chancery', summary: 'To PostgreSQL' },
      ],
      needs: 'authority-host',
    },
  ),
  command(
    'authority backup',
    'Copy the database into a folder, with a signed manifest',
    'Copies a consistent state of the database while the authority runs, and signs a manifest. The backup can be restored into SQLite or PostgreSQL. It does not contain private keys, settings or the high-water mark; back these up separately.',
    {
      options: [
        { flags: '--out <folder>', summary: 'New folder for the backup' },
        { flags: '--taken-elsewhere', summary: 'Only record that another tool has just taken a backup' },
      ],
      examples: [
        { line: 'chancery authority backup --home /etc/chancery --out /backups/2026-05-01', summary: 'Every night' },
      ],
      needs: 'authority-host',
    },
  ),
  command(
    'authority restore',
    'Restore a backup into an empty database',
    'Verifies the backup, fills the empty database of the settings, applies the migrations, verifies every record and compares the high-water marks; it never overwrites data. If records were published after the backup, the authority refuses all requests until you run recover. With --rehearse it does all of this in a temporary database, which tests a backup or an upgrade.',
    {
      options: [
        { flags: '--from <folder>', summary: 'Folder of the backup; --rehearse takes a new one without it' },
        { flags: '--restart', summary: 'Delete an incomplete restore in PostgreSQL and start again' },
        { flags: '--without-mark', summary: 'Without a high-water mark, only if nothing was published afterwards' },
        { flags: '--rehearse', summary: 'Restore into a temporary database, print the duration, and drop it' },
        { flags: '--on-sqlite', summary: 'With --rehearse: if the role of DATABASE_URL cannot create databases' },
      ],
      examples: [
        {
          line: 'chancery authority restore --home /etc/chancery --from /backups/2026-05-01',
          summary: 'While no instance runs',
        },
        { line: 'chancery authority restore --home /etc/chancery --rehearse', summary: 'Test an upgrade' },
      ],
      needs: 'authority-host',
    },
  ),
  command(
    'authority recover',
    'Recover a database that was rolled back',
    'For a database that is older than its high-water mark, or whose mark is missing: restores revocations from the given list and feed, raises their sequences by 100, ends open invites and refuses requests signed before now; agents must register again. With --presented, --audit or --certificates it lists, revokes or adopts records that the database lacks. With --evidence it imports missing entries of the evidence store, and verifies the whole store first.',
    {
      options: [
        { flags: '--crl <file>', summary: 'A newer revocation list, for example from a gateway' },
        { flags: '--feed <file>', summary: 'A newer revocation feed, for example from a partner network' },
        { flags: '--without-mark', summary: 'Although there is no mark and no list: later revocations are lost' },
        { flags: '--audit <file>', summary: 'Audit events from before the loss, to find unknown records' },
        { flags: '--certificates <path>', summary: 'Certificate file or folder of nodes; unknown ones can be adopted' },
        { flags: '--presented', summary: 'Certificates that running nodes presented because the database lacks them' },
        {
          flags: '--unknown <what>',
          summary: 'List unknown records, revoke them, or adopt certificates',
          default: 'list',
          choices: ['list', 'revoke', 'adopt'],
        },
        {
          flags: '--reason <word>',
          summary: 'Reason for --unknown revoke',
          default: 'unspecified',
          choices: REVOCATION_REASONS,
        },
        { flags: '--evidence <file>', summary: 'Export of the evidence store, to import what is missing' },
        { flags: '--anchors <folder>', summary: 'With --evidence: folder of evidence anchor --out' },
      ],
      examples: [
        { line: 'chancery authority recover --home /etc/chancery', summary: 'Recover after a restore' },
        {
          line: 'chancery authority recover --home /etc/chancery --audit audit.jsonl --certificates found',
          summary: 'List what was issued after the backup; changes nothing',
        },
        {
          line: 'chancery authority recover --home /etc/chancery --presented --unknown adopt',
          summary: 'Adopt the certificates that nodes presented',
        },
        {
          line: 'chancery authority recover --home /etc/chancery --evidence evidence.jsonl --anchors anchors',
          summary: 'Import evidence, after recover',
        },
      ],
      needs: 'authority-host',
    },
  ),
  command(
    'authority resign-lists',
    'Sign lists again that are dated in the future',
    'For a revocation list or feed that a wrong clock dated over 300 s in the future, after the clock is correct again. Signs each of them again with the next sequence, the same entries and the present time. Exit code 1 if nothing was signed.',
    {
      options: [{ flags: '--at <time>', summary: 'Present time from another clock, within 300 s', required: true }],
      examples: [
        {
          line: 'chancery authority resign-lists --home /etc/chancery --at 2026-05-01T12:00:00Z',
          summary: 'Sign again after the clock is correct',
        },
      ],
      needs: 'authority-host',
    },
  ),
  command(
    'authority rotate-key',
    'Replace the key of the authority',
    'Run it with the settings in use, while all instances run: each run goes on from the step that the network is at, shows who follows, and asks before the switch. The new key is next to the present one: KEY-ID.key in the same folder, the label KEY-ID in the same token, or another version in the same key service. Single steps run with --step and the settings of the new key; undo announces a block that names the former key.',
    {
      options: [
        { flags: '--next-key-id <id>', summary: 'Id of the next key, at the first step' },
        { flags: '--next-genesis <file>', summary: 'Block of the next key, signed by the root key, at the first step' },
        { flags: '--next-history <file>', summary: 'Key history of that block, at the first step' },
        { flags: '--gateway <url>', summary: 'Ask this gateway whether it has the next key', repeatable: true },
        { flags: '--token-file <file>', summary: 'File with the credential for these gateways' },
        {
          flags: '--step <name>',
          summary: 'One step only; the switch needs all instances stopped',
          choices: ['announce', 'switch', 'retire', 'undo'],
        },
        { flags: '--status', summary: 'Count the nodes that have the announced block' },
        { flags: '--first-list <file>', summary: 'Only write the first list of the new key, for gateway policies' },
        { ...FORCE, summary: 'Switch although some nodes or gateways do not have the key' },
        YES,
      ],
      examples: [
        {
          line: 'chancery authority rotate-key --home /etc/chancery --next-key-id na-2 --next-genesis genesis-2.json --next-history key-history.json',
          summary: 'Announce the next key',
        },
        { line: 'chancery authority rotate-key --home /etc/chancery', summary: 'Go on with the next step' },
        {
          line: 'chancery authority rotate-key --home ./new --step announce',
          summary: 'One step, with the settings of the new key',
        },
      ],
      needs: 'authority-host',
    },
  ),
  command(
    'authority audit',
    'Export or forward the audit log',
    'Reads audit events from the database and writes them as JSON Lines; the last line on standard error is the next cursor. With --forward it sends every event at least once to a stream, with its id as Nats-Msg-Id, until it is stopped, and stores its position in the database. Fields that could contain a secret are redacted.',
    {
      options: [
        { flags: '--after <cursor>', summary: 'Only events after this cursor' },
        { flags: '--limit <n>', summary: 'Maximum number of events' },
        { flags: '--out <file>', summary: 'New file; default: standard output' },
        AUDIT_FORMAT_OPTION,
        { flags: '--name <name>', summary: 'Name of the stored position; each name gets all events' },
        { flags: '--remove', summary: 'Delete the stored position of --name, so that it delays no retention' },
        { flags: '--forward <server>', summary: 'NATS server (nats://, tls://), or a file with its URL' },
        { flags: '--creds <file>', summary: 'With --forward: credentials file for the server' },
        { flags: '--ca <file>', summary: 'With --forward: root certificate for the TLS of the server' },
        { flags: '--stream <name>', summary: 'With --forward: stream, made if missing', default: 'CHANCERY_AUDIT' },
        { flags: '--subject <subject>', summary: 'With --forward: prefix of subjects', default: 'chancery.audit' },
        { flags: '--once', summary: 'With --forward: exit when all events are sent' },
      ],
      examples: [
        { line: 'chancery authority audit --home /etc/chancery --out audit.jsonl', summary: 'Export all events' },
        {
          line: 'chancery authority audit --home /etc/chancery --name archive --out audit-2026-07.jsonl',
          summary: 'The events since the last export of this name',
        },
        {
          line: 'chancery authority audit --home /etc/chancery --forward tls://nats.example:4222 --name nats',
          summary: 'Run next to the authority',
        },
      ],
      needs: 'authority-host',
    },
  ),
  command(
    'authority watch',
    'Monitor what an authority publishes, from outside',
    'Reads the revocation list and the feed like a verifier. Checks that they are reachable, signed by the authority of the genesis block and fresh, and that their sequences never go back or repeat with other content. Exit code 1 if a check fails.',
    {
      options: [
        { flags: '--state <file>', summary: 'File for the last positions; else only the current state is checked' },
        { flags: '--every <time span>', summary: 'Repeat until stopped, one line per check' },
        { flags: '--canary <certificate-id>', summary: 'Revoked certificate that the list must contain' },
        { flags: '--metrics-file <file>', summary: 'Also write Prometheus text for the node exporter' },
      ],
      examples: [
        {
          line: 'chancery authority watch --url https://na.example.org --genesis genesis.json --state watch.json',
          summary: 'Check once, from a timer',
        },
        {
          line: 'chancery authority watch --url https://na.example.org --genesis genesis.json --state watch.json --every 60s --json --metrics-file /var/lib/node-exporter/chancery.prom',
          summary: 'Run as a service',
        },
      ],
    },
  ),
]

const KEY_ID = { name: 'key_id', summary: 'Id of the key', required: true } as const

export const operatorCommands: readonly Command[] = [
  command(
    'operator add',
    'Add an operator',
    'Adds a public key to the operators file of an authority, on its host; with --create it makes the key pair first. A running authority accepts the key from its next request on and writes an audit event. A key id that was revoked stays refused.',
    {
      arguments: [{ ...KEY_ID, summary: 'New id of the key at this authority' }],
      options: [
        { flags: '--key <key>', summary: 'Public key of the operator: a .pub file or base64' },
        { flags: '--create', summary: 'Create the key pair in the folder of the authority' },
        { flags: '--tier <tier>', summary: 'Rights of the key', choices: OPERATOR_TIERS, default: 'standard' },
        { flags: '--again', summary: 'Also add an id or key that was removed before' },
      ],
      examples: [
        { line: 'chancery operator add ops-2 --key ./ops-2.pub', summary: 'Add a standard operator' },
        { line: 'chancery operator add ops-2 --create --tier privileged', summary: 'Add one who may revoke' },
      ],
      needs: 'authority-host',
    },
  ),
  command(
    'operator list',
    'List the operators of an authority',
    'Lists the operators file of an authority, on its host; --check also asks the authority which of the keys are revoked. With a key id it counts the audit events of that key by type; the key may be revoked.',
    {
      arguments: [{ ...KEY_ID, summary: 'Show the activity of this key', required: false }],
      options: [
        { flags: '--check', summary: 'Ask the authority for the state of each key' },
        { flags: '--days <n>', summary: 'Period of the activity in days, 1 to 3650', default: '30' },
      ],
      examples: [
        { line: 'chancery operator list', summary: 'List key ids, tiers and public keys' },
        { line: 'chancery operator list ops-2 --days 90', summary: 'What this key did in 90 days' },
      ],
      needs: 'authority-host',
    },
  ),
  command(
    'operator remove',
    'Remove an operator',
    'Removes a key from the operators file of an authority, on its host. A running authority refuses the key from its next request on and writes an audit event. Revoke a stolen key first, because only operator revoke is permanent and can withdraw its invites.',
    {
      arguments: [KEY_ID],
      options: [{ ...FORCE, summary: 'Also remove the last privileged key' }, YES],
      examples: [{ line: 'chancery operator remove ops-2', summary: 'Ask, then remove' }],
      needs: 'authority-host',
    },
  ),
  command(
    'operator revoke',
    'Revoke an operator key',
    'Shows the activity of the key and revokes it permanently. On a terminal it offers to withdraw the invites of the key. The last usable key cannot be revoked; the last privileged key needs --force.',
    {
      arguments: [{ ...KEY_ID, summary: 'Id of the key to revoke' }],
      options: [
        { ...REASON, default: 'unspecified' },
        { ...FORCE, summary: 'Also revoke the last privileged key; needs --reason' },
        { flags: '--withdraw-invites', summary: 'Also withdraw the open invites of the key' },
        { flags: '--remove-rules', summary: 'Also remove the admission rules that the key added' },
        ...REVOKING_OPTIONS,
      ],
      examples: [
        { line: 'chancery operator revoke ops-2 --reason left-the-team', summary: 'Show it, ask, then revoke' },
        { line: 'chancery operator revoke ops-1 --force --reason "laptop stolen"', summary: 'The last privileged key' },
      ],
      needs: 'operator',
    },
  ),
]

const NETWORK = { name: 'network', summary: 'Name of the network in the policy', required: true } as const
const RULES: readonly CommandOption[] = [
  { flags: '--root-key <key>', summary: 'Root public key of the network, instead of --genesis' },
  { flags: '--allow-http', summary: 'Allow http inside your own networks; to this machine it needs no flag' },
  { flags: '--role <role>', summary: 'Role that a certificate must have', repeatable: true },
  { flags: '--every <time span>', summary: 'Time between fetches of the revocation list', default: '60s' },
]

export const gatewayCommands: readonly Command[] = [
  command(
    'gateway init',
    'Create a gateway for a network',
    'Verifies the authority of --network, or of --genesis or --root-key with --url, then writes policy, settings, state and a caller token into the new folder of --home and checks them as a start does. Writes nothing if a check fails, and never replaces a file.',
    {
      options: [
        ...RULES,
        { flags: '--host <address>', summary: 'Listening IP address of the gateway', default: '127.0.0.1' },
        { flags: '--port <n>', summary: 'Listening port of the gateway', default: '8080' },
        { flags: '--client <id>', summary: 'Name of the service that gets the token', default: 'service' },
        { flags: '--token-file <file>', summary: 'New file for the caller token; default: caller.token in the folder' },
        { flags: '--show-token', summary: 'Print the token once instead of writing a file' },
        { flags: '--valid-for <time span>', summary: 'Validity of the token, 1d to 3650d', default: '365d' },
        { flags: '--metrics', summary: 'Let the token also read /metrics' },
        { ...DETACH, summary: 'Also run it in the background and return when it is ready' },
      ],
      examples: [
        {
          line: 'chancery gateway init --home ./gw --genesis ./harbour/genesis.json --detach',
          summary: 'For an authority on this machine; starts the gateway',
        },
        {
          line: 'chancery gateway init --home ./gw --url https://na.example.org --root-key root.pub',
          summary: 'For an authority elsewhere',
        },
      ],
    },
  ),
  command(
    'gateway start',
    'Run the gateway',
    'Starts the gateway and runs until it is stopped. SIGHUP reloads all files. With --check-config or --init-state it does only that and exits.',
    {
      options: [
        ENV_FILE,
        { flags: '--check-config', summary: 'Check everything that a start loads; --json lists all problems' },
        { flags: '--online', summary: 'With --check-config: also call the configured addresses' },
        { flags: '--init-state', summary: 'Create the durable state once, from the verified policy' },
        DETACH,
        { flags: '--version', summary: 'Print the version' },
      ],
      examples: [
        { line: 'chancery gateway start --home ./gw', summary: 'Run the gateway of a folder' },
        { line: 'chancery gateway start --check-config', summary: 'Check before a rollout or a reload' },
        { line: 'chancery gateway start --init-state', summary: 'Run once per replica, before its first start' },
      ],
    },
  ),
  command(
    'gateway backup',
    'Back up its state',
    'Writes a consistent copy while the gateway runs, and checks it. Never replaces a file.',
    {
      options: [{ ...OUT, summary: 'New file for the copy', required: true }],
      examples: [{ line: 'chancery gateway backup --home ./gw --out /backup/gateway.state', summary: 'From a timer' }],
    },
  ),
  command(
    'gateway network add',
    'Trust a network',
    'Verifies another authority with its genesis block or root key and adds its network to the policy of the gateway. The new policy replaces the old one only after it has passed the checks of a start. Reload the gateway afterwards.',
    {
      options: [...RULES, { flags: '--client <id>', summary: 'Client that may use it; needed with several clients' }],
      examples: [
        {
          line: 'chancery gateway network add --home ./gw --url https://na.partner.example --root-key partner-root.pub',
          summary: 'Then reload the gateway with kill -HUP',
        },
      ],
    },
  ),
  command(
    'gateway network refresh',
    'Pin the newest key of a network',
    'Pins the root key, with which a running gateway follows later keys by itself, adds the newest key to the policy, and removes a retired one; the root key of --genesis must have signed the new block and history. With --old-key and --new-crl it accepts a new key that the root cannot sign: the stored list must verify with the former key, and the new list have a higher sequence and all revocations. Reload the gateway afterwards.',
    {
      arguments: [NETWORK],
      options: [
        { flags: '--policy <file>', summary: 'Policy file; default: that of the gateway' },
        { flags: '--issuer <id>', summary: 'With --old-key: key id of the issuer of its lists' },
        { flags: '--old-key <key>', summary: 'Former public key, in base64; stop the gateway first' },
        { flags: '--new-crl <file>', summary: 'With --old-key: list signed with the new key' },
      ],
      examples: [
        {
          line: 'chancery gateway network refresh ACME-NET --home ./gw --genesis genesis.json --url https://na.example.org',
          summary: 'Update the policy, then reload with kill -HUP',
        },
      ],
    },
  ),
  command(
    'gateway network clear',
    'Clear a suspect issuer or one revocation',
    'Run it after you have checked why an authority signed two different lists with one sequence, or for a certificate that a later list no longer names. The reason is written to the audit log. Stop the gateway first.',
    {
      arguments: [NETWORK],
      options: [
        { flags: '--suspect <issuer>', summary: 'Key id of the issuer to clear' },
        { flags: '--certificate <id>', summary: 'Certificate to accept again' },
        { flags: '--issuer <id>', summary: 'With --certificate: key id of the issuer of the list' },
        { ...REASON, required: true },
      ],
      examples: [
        {
          line: 'chancery gateway network clear agency --suspect na-main --reason "restored from backup, confirmed"',
          summary: 'Trust the issuer again',
        },
        {
          line: 'chancery gateway network clear agency --certificate cert-7f --issuer na-main --reason "by mistake"',
          summary: 'Accept one certificate',
        },
      ],
    },
  ),
  command(
    'gateway client add',
    'Create a client with its token',
    'Writes a new token to a file and its digest into the policy of the gateway; --token-file may name a file with a token that exists. With --dry-run it prints a token and its entry for the policy, and writes nothing.',
    {
      arguments: [{ name: 'id', summary: 'Name of the client', required: true }],
      options: [
        { flags: '--token-file <file>', summary: 'File for the token; default: <id>.token in the folder' },
        { flags: '--only <network>', summary: 'Network that it may use; default: all', repeatable: true },
        { flags: '--valid-for <time span>', summary: 'Validity of the token, 1d to 3650d', default: '365d' },
        { flags: '--metrics', summary: 'Let the token also read /metrics' },
        { ...REVOKING_OPTIONS[0]!, summary: 'Print token and entry, and write nothing' },
      ],
      examples: [
        { line: 'chancery gateway client add billing --home ./gw', summary: 'Then reload the gateway with kill -HUP' },
      ],
    },
  ),
  command(
    'gateway enable',
    'Enable AuthZEN, the HTTP check or access tokens',
    'Writes the member for a feature into the policy of the gateway, checks the policy as a start does, and replaces the file. For access tokens it makes a first signing key and one service; the gateway asks for decisions as the given node, which needs a relay role. Reload the gateway afterwards.',
    {
      arguments: [
        { name: 'feature', summary: 'The feature', required: true, choices: ['authzen', 'http-check', 'tokens'] },
      ],
      options: [
        { flags: '--config <file>', summary: 'authzen, http-check: JSON or YAML file with the member for the policy' },
        ...TOKEN_OPTIONS,
      ],
      examples: [
        { line: 'chancery gateway enable authzen --home ./gw --config authzen.yaml', summary: 'Then reload it' },
        {
          line: 'chancery gateway enable tokens --home ./gw --issuer https://gw.example --resource https://ledger.example/api --scope ledger.read --node ./relay',
          summary: 'Issue access tokens for a service',
        },
      ],
    },
  ),
  ...gatewayTokens,
  command(
    'gateway ask',
    'Ask one AuthZEN question',
    'Reads the metadata of a decision point of any product, asks, and prints the answer: exit code 1 if the request is denied, 3 if there is no decision. The signed decision of a gateway is verified with --key or the genesis block; an answer that was not verified is no decision, unless --allow-unsigned is given. With --scenario certification it runs the scenario that the OpenID Foundation publishes for AuthZEN 1.0: levels Basic, Batch and Discovery.',
    {
      options: [
        { flags: '--pdp <url>', summary: 'Decision point: https, or http on this machine', required: true },
        { flags: '--token-file <file>', summary: 'File with the bearer credential, such as caller.token' },
        { flags: '--subject <type:id>', summary: 'Who wants to act' },
        { flags: '--action <name>', summary: 'What it wants to do' },
        { flags: '--resource <type:id>', summary: 'What it acts on' },
        { flags: '--property <place.name=value>', summary: 'Property, such as resource.copies=2', repeatable: true },
        { flags: '--context <file>', summary: 'JSON or YAML file with the context of the question' },
        { flags: '--key <key>', summary: 'Key that must have signed the decision', repeatable: true },
        { flags: '--allow-unsigned', summary: 'Take the answer of a product that signs nothing' },
        { flags: '--scenario <name>', summary: 'Run this scenario instead', choices: ['certification'] },
      ],
      examples: [
        {
          line: 'chancery gateway ask --pdp https://gw.example --token-file caller.token --subject user:alice --action read --resource record:record-1',
          summary: 'Ask a gateway',
        },
        {
          line: 'chancery gateway ask --pdp https://gw.example --token-file caller.token --scenario certification',
          summary: 'Print each level and each check that failed',
        },
      ],
    },
  ),
  command(
    'gateway audit',
    'Print the audit events',
    'Prints the stored audit events as JSON Lines, oldest first. It verifies the chain and stops before the first event that does not follow. With --prune it removes old events; the chain stays verifiable, and events that a collector has not acknowledged stay.',
    {
      options: [
        AUDIT_FORMAT_OPTION,
        { flags: '--prune', summary: 'Remove events instead; stop the gateway first' },
        { flags: '--older-than <time span>', summary: 'With --prune: minimum age, 0d to 36500d' },
      ],
      examples: [
        { line: 'chancery gateway audit --home ./gw > audit.ndjson', summary: 'Works while the gateway runs' },
        { line: 'chancery gateway audit --home ./gw --prune --older-than 30d', summary: 'Make room in a full state' },
      ],
    },
  ),
]
