import { type Command, HOST_OPTIONS } from './command.ts'
import { recoveryCommands } from './recovery.ts'

export const authorityCommands: readonly Command[] = [
  {
    path: ['authority', 'start'],
    summary: 'Run the network authority',
    description: 'Starts the service and runs until it is stopped. Every flag has a setting with the same meaning.',
    arguments: [],
    options: [
      { flags: '--genesis <file>', summary: 'Signed genesis block (GENESIS_FILE)' },
      { flags: '--na-private-key <file>', summary: 'Private key file of the authority (NA_PRIVATE_KEY_FILE)' },
      { flags: '--key-id <id>', summary: 'Key id written into signatures (NA_KEY_ID)', default: 'na-2025-q1' },
      {
        flags: '--operator-public-key <key-id=key>',
        summary: 'Operator key: base64 or a .pub file (OPERATOR_PUBLIC_KEYS_JSON)',
        repeatable: true,
      },
      {
        flags: '--operator-key-tier <key-id=tier>',
        summary: 'Tier of an operator key, standard or privileged; no default; adds to OPERATOR_KEY_TIERS_JSON',
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
      {
        flags: '--management-addr <address:port>',
        summary: 'Second listener for metrics and readiness checks (NA_MANAGEMENT_ADDR)',
      },
      { flags: '--env-file <file>', summary: 'File with settings; environment variables override it' },
    ],
    examples: [
      {
        line: 'chancery authority start --genesis genesis.signed.json --na-private-key na.key --operator-public-key ops-1=ops-1.pub --operator-key-tier ops-1=privileged',
        summary: 'Start with one operator, on this machine only',
      },
      { line: 'chancery authority start --env-file /etc/chancery/authority.env', summary: 'Run as a service' },
    ],
    needs: 'authority-host',
  },
  {
    path: ['authority', 'verify-db'],
    summary: 'Check every record of the database',
    description:
      'Verifies every signature, the sequences and entries of lists and feeds, the active policy versions, the evidence chain with its anchors, and the audit events. Changes nothing. Exit code 1 if a check fails.',
    arguments: [],
    options: HOST_OPTIONS,
    examples: [
      {
        line: 'chancery authority verify-db --env-file /etc/chancery/authority.env',
        summary: 'Check the database after a restore',
      },
    ],
    needs: 'authority-host',
  },
  {
    path: ['authority', 'migrate'],
    summary: 'Migrate the database to this release',
    description:
      'Applies the migrations of this release to the database of the settings, as a start does before it serves, and ends. Run it before the instances of a new release start; instances of the previous release continue if the changelog allows it. Opens no key, and is safe while other commands or instances start.',
    arguments: [],
    options: HOST_OPTIONS,
    examples: [
      {
        line: 'chancery authority migrate --env-file /etc/chancery/authority.env',
        summary: 'Migrate before the first instance of a new release starts',
      },
    ],
    needs: 'authority-host',
  },
  {
    path: ['authority', 'migrate-db'],
    summary: 'Copy an SQLite authority into PostgreSQL',
    description:
      'Copies all rows into the empty database of DATABASE_URL, reads every row back and verifies every record. The source must not be in use and is not changed; a target that is not empty is refused. An authority does not start on an incomplete copy; --restart deletes it and copies again.',
    arguments: [],
    options: [
      { flags: '--from <file>', summary: 'SQLite file of the stopped authority', required: true },
      { flags: '--restart', summary: 'Delete an incomplete copy and copy again' },
      ...HOST_OPTIONS.filter(({ flags }) => !flags.startsWith('--db-path')),
    ],
    examples: [
      {
        line: 'chancery authority migrate-db --from chancery.db --env-file /etc/chancery/authority.env',
        summary: 'Copy with the settings of the new authority',
      },
    ],
    needs: 'authority-host',
  },
  ...recoveryCommands,
  {
    path: ['authority', 'public-key'],
    summary: 'Print the public key of the authority',
    description:
      'Reads the public key from the key provider of the settings, which may be a hardware token, and prints it in the form of a .pub file. Does not need a genesis block.',
    arguments: [],
    options: HOST_OPTIONS.filter(({ flags }) => /^--(?:na-private-key|env-file) /.test(flags)),
    examples: [
      {
        line: 'chancery authority public-key --env-file /etc/chancery/authority.env > na.pub',
        summary: 'Print the key for chancery genesis create',
      },
    ],
    needs: 'authority-host',
  },
  {
    path: ['authority', 'rotate-key'],
    summary: 'Replace the key of the authority without a stop',
    description:
      'Run it with the settings in use, while all instances run: each run goes on from the step that the network is at, shows who follows, and asks before the switch. The new key is next to the present one: KEY-ID.key in the same folder, the label KEY-ID in the same token, or another version in the same key service. To undo, give documents of the root key that name the former key.',
    arguments: [],
    options: [
      { flags: '--next-key-id <id>', summary: 'Id of the next key, at the first step' },
      { flags: '--next-genesis <file>', summary: 'Block of the next key, signed by the root key, at the first step' },
      { flags: '--next-history <file>', summary: 'Key history of that block, at the first step' },
      { flags: '--gateway <url>', summary: 'Ask this gateway whether it has the next key', repeatable: true },
      { flags: '--gateway-token-file <file>', summary: 'File with the credential for these gateways' },
      { flags: '--yes', summary: 'Do not ask' },
      { flags: '--force', summary: 'Switch although some nodes or gateways do not have the key' },
      ...HOST_OPTIONS,
    ],
    examples: [
      {
        line: 'chancery authority rotate-key --env-file authority.env --next-key-id na-2 --next-genesis genesis-2.json --next-history key-history.json',
        summary: 'Announce the next key',
      },
      {
        line: 'chancery authority rotate-key --env-file authority.env --gateway https://gw.example --gateway-token-file caller.token',
        summary: 'Go on with the next step, and see whether this gateway follows',
      },
    ],
    needs: 'authority-host',
  },
  {
    path: ['authority', 'key-succession'],
    summary: 'Replace the key of the authority',
    description:
      'Run it with the settings of the new key, one step at a time: announce publishes the new block, status counts the nodes that have it, switch (with all instances stopped) signs with the new key, retire ends the list of the former key. To undo a step, announce a block that names the former key. With --first-list it only writes the list that gateways need to pin the new key.',
    arguments: [],
    options: [
      { flags: '--step <name>', summary: 'announce, status, switch or retire', default: 'switch' },
      {
        flags: '--yes',
        summary: 'Continue although nodes lack the block or certificates of the former key are in use',
      },
      { flags: '--first-list <file>', summary: 'Only write the first list of the new key to a new file' },
      ...HOST_OPTIONS,
    ],
    examples: [
      {
        line: 'chancery authority key-succession --env-file new.env --first-list new-list.json',
        summary: 'Write the list for gateway policies, hours before',
      },
      {
        line: 'chancery authority key-succession --env-file new.env --step announce',
        summary: 'Announce the new key, days before',
      },
      {
        line: 'chancery authority key-succession --env-file new.env --step status',
        summary: 'Count the nodes that have the new block',
      },
      { line: 'chancery authority key-succession --env-file new.env', summary: 'Switch to the new key' },
      {
        line: 'chancery authority key-succession --env-file new.env --step retire',
        summary: 'Retire the former key',
      },
    ],
    needs: 'authority-host',
  },
]
