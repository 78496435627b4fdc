import { type Command, DETACH, FORCE, OUT, command } from './command.ts'

const PLACE: Command['options'] = [
  { flags: '--name <name>', summary: 'Name of a new network; also its sovereign id' },
  { flags: '--port <n>', summary: 'Port of a new network', default: '8443' },
  { flags: '--host <address>', summary: 'Listening address of a new network', default: '127.0.0.1' },
]

export const startCommands: readonly Command[] = [
  command(
    'demo',
    'Run a demo network and open its console',
    'Creates a network with the activity of the last 12 hours, starts its authority and keeps it in use: nodes send heartbeats, renew certificates and ask for decisions. A second start continues with the folder. The keys are public and the same every time; do not expose the network.',
    {
      options: [
        { flags: '--port <n>', summary: 'Port of the authority, on this machine only', default: '8443' },
        { flags: '--nodes <n>', summary: 'Number of nodes of a new demo, 1 to 2000', default: '200' },
        { flags: '--two', summary: 'Two companies: a bank with a service, and a freight company that calls it' },
        { flags: '--gateway', summary: 'Also start a gateway and a protected service on the next two ports' },
        { flags: '--reset', summary: 'Delete the demo in the folder first, and make a new one' },
        { flags: '--static', summary: 'No past activity, and no activity after the start' },
        DETACH,
      ],
      examples: [
        { line: 'chancery demo --home ./demo', summary: 'Start it, then open http://127.0.0.1:8443/ in a browser' },
        { line: 'chancery demo --gateway', summary: 'Start it with a gateway, and print two calls to try' },
        { line: 'chancery demo --reset', summary: 'Delete the demo in ./demo and make a new one' },
        { line: 'chancery demo --two --home ./two', summary: 'Start two companies and a service on three ports' },
      ],
    },
  ),
  command(
    'init',
    'Create a network in a folder',
    'Creates keys, a signed genesis block and a configuration file for a new network in one folder. Starts nothing: chancery up does.',
    {
      options: [...PLACE, { flags: '--force', summary: 'Move an earlier network in this folder aside, with its keys' }],
      examples: [{ line: 'chancery init --home ./harbour --name HARBOUR', summary: 'Create a network here' }],
    },
  ),
  command(
    'up',
    'Start the services of a folder',
    'Starts the service of a folder and runs until Ctrl-C. In an empty folder it asks for a name, checks the machine and creates a network with a recovery sheet first. Prints the address when ready.',
    {
      options: [
        ...PLACE,
        { flags: '--out <file>', summary: 'Write the recovery sheet to a new file instead of the screen' },
        { flags: '--systemd', summary: 'Write a systemd unit for this network and print how to start it' },
        { flags: '--compose', summary: 'Write a Compose file for this network and print how to start it' },
        DETACH,
      ],
      examples: [
        { line: 'chancery up --home ./harbour', summary: 'Run it until Ctrl-C' },
        { line: 'chancery up --home ./harbour --name HARBOUR --detach', summary: 'Create it if new, and return' },
        { line: 'chancery up --home ./harbour --home ./gw --detach', summary: 'Start two services' },
        { line: 'chancery up --home /srv/harbour --name HARBOUR --systemd', summary: 'A network that systemd runs' },
      ],
    },
  ),
  command(
    'down',
    'Stop them',
    'Stops the service that was started with --detach in a folder, and waits until it has ended. Exit code 0 also if it does not run, 6 if it does not end within 30 seconds.',
    {
      options: [
        { flags: '--all', summary: 'The services of all saved networks' },
        { flags: '--force', summary: 'End a process that does not stop in time' },
      ],
      examples: [
        { line: 'chancery down --home ./harbour', summary: 'Stop the authority of a folder' },
        { line: 'chancery down --all', summary: 'Stop everything that use has saved' },
      ],
    },
  ),
  command(
    'status',
    'Show services, network and node of a folder',
    'Shows the service of a folder and whether it is ready, the evidence store and the feeds of an authority, the lists of a gateway, and certificate, list and clock of a node. Exit code 1 if something that should run is not ready.',
    {
      examples: [
        { line: 'chancery status', summary: 'Of the selected network' },
        { line: 'chancery status --home ./gw --json', summary: 'The lists of a gateway, to save elsewhere' },
      ],
    },
  ),
  command(
    'logs',
    'Show the log of a service',
    'Prints the log of the service in a folder. Under systemd it prints the journalctl command that has the log.',
    {
      options: [
        { flags: '--follow', summary: 'Go on printing new lines' },
        { flags: '--since <time span>', summary: 'Only lines of this last time, for example 1h' },
        { flags: '--level <word>', summary: 'Only this level and above', choices: ['debug', 'info', 'warn', 'error'] },
      ],
      examples: [{ line: 'chancery logs --home ./harbour --level warn', summary: 'What went wrong' }],
    },
  ),
  command(
    'use',
    'Select the network of later commands',
    'Saves the folder of a network and selects it, selects a saved one by its name, or lists the saved ones. Without a folder give --url and --genesis: a network elsewhere. --home, --network, CHANCERY_HOME and ./chancery.toml take precedence.',
    {
      arguments: [{ name: 'network', summary: 'Folder with chancery.toml, or the name of a network', required: false }],
      options: [{ flags: '--remove <name>', summary: 'Remove a saved network' }],
      examples: [
        { line: 'chancery use ./harbour', summary: 'Save and select it' },
        { line: 'chancery use', summary: 'List the saved networks' },
        {
          line: 'chancery use NORTHWIND --url https://na.northwind.example --genesis northwind.json',
          summary: 'Save a network without a folder',
        },
      ],
    },
  ),
  command(
    'doctor',
    'Check a deployment and print fixes',
    'Checks settings, keys, database, clock, lists, state and audit log of the authority or gateway in a folder, and asks the running service. Changes nothing; the proxy check causes one audit event of a refused call. Exit code 1 if a check fails.',
    {
      options: [
        { flags: '--public-url <url>', summary: 'Also check this public address of the authority' },
        { flags: '--remote', summary: 'Ask only the running authority, with an operator key' },
        { flags: '--offline', summary: 'Call no address' },
      ],
      examples: [
        { line: 'chancery doctor --home /etc/chancery', summary: 'Run it on the machine of the service' },
        { line: 'chancery doctor --remote', summary: 'What a running authority finds' },
      ],
      needs: 'authority-host',
    },
  ),
  command(
    'settings',
    'Print every setting of a service with its origin',
    'Prints each setting of the authority or gateway in a folder with its value, whether a flag, the environment, the settings file or the default gave it, and a star when it differs from the default. Secrets are only shown as set. Exit code 1 if a start with these settings would be refused.',
    {
      options: [{ flags: '--changed', summary: 'Only settings that differ from their default' }],
      examples: [{ line: 'chancery settings --home ./harbour --changed', summary: 'What differs from the defaults' }],
      needs: 'authority-host',
    },
  ),
  command(
    'keygen',
    'Create a key pair',
    'Creates a key pair for one purpose: a root key signs genesis blocks and stays offline, an authority key runs a network, an operator key belongs to a person, a node key joins, and an executor key signs reports of executions.',
    {
      arguments: [
        {
          name: 'kind',
          summary: 'What the key is for',
          required: true,
          choices: ['root', 'authority', 'operator', 'node', 'executor'],
        },
      ],
      options: [
        { flags: '--out <base>', summary: 'Writes <base>.key and <base>.pub', required: true },
        { flags: '--key-id <id>', summary: 'Name of the key, noted in both files' },
        { ...FORCE, summary: 'Replace existing files; a replaced private key is lost' },
      ],
      examples: [
        { line: 'chancery keygen node --out ./keys/node --key-id node-1', summary: 'Create a key pair with a key id' },
      ],
    },
  ),
  command(
    'completion',
    'Print shell completion',
    'Prints a completion script for a shell. It completes commands, options, choices, files, folders and names of saved networks.',
    {
      arguments: [
        { name: 'shell', summary: 'Name of the shell', required: true, choices: ['bash', 'zsh', 'fish', 'powershell'] },
      ],
      options: [{ flags: '--install', summary: 'Write the file and print its name' }],
      examples: [{ line: 'chancery completion bash', summary: 'Print the script for bash' }],
    },
  ),
]

export const genesisCommands: readonly Command[] = [
  command(
    'genesis create',
    'Write an unsigned genesis block',
    'Builds a genesis block from public keys. Without --authority-key it takes the key of the authority in --home, which may be in a hardware token. The block is not valid until the root key has signed it.',
    {
      options: [
        { flags: '--name <name>', summary: 'Name of the network; also its sovereign id', required: true },
        { flags: '--root-key <key>', summary: 'Root public key: a .pub file or base64', required: true },
        { flags: '--authority-key <key>', summary: 'Public key of the authority; default: that of --home' },
        { ...OUT, required: true },
        { flags: '--version <text>', summary: 'Version of the network', default: 'v0.1' },
        { flags: '--valid-for <time span>', summary: 'Validity of the authority key', default: '90d' },
        { flags: '--anchor <id=host:port>', summary: 'Bootstrap endpoint of a peer', repeatable: true },
        { flags: '--policy-hash <hash>', summary: 'sha256: and 64 hex digits of a policy manifest; default: none' },
        { flags: '--policy-url <url>', summary: 'URL of the policy manifest' },
      ],
      examples: [
        {
          line: 'chancery genesis create --name HARBOUR --root-key root.pub --authority-key na.pub --out genesis.json',
          summary: 'Create a block that is valid for 90 days',
        },
      ],
    },
  ),
  command(
    'genesis sign',
    'Sign a genesis block',
    'Adds the signature of the root key and writes a new file. Run it on the offline machine that has the root key.',
    {
      arguments: [{ name: 'block', summary: 'Block to sign', required: true }],
      options: [
        { flags: '--root-private-key <file>', summary: 'Private key file of the root', required: true },
        { flags: '--key-id <id>', summary: 'Key id written into the signature', default: 'rs-2025-q1' },
        { ...OUT, required: true },
      ],
      examples: [
        {
          line: 'chancery genesis sign genesis.json --root-private-key root.key --out genesis.signed.json',
          summary: 'Write the signed block to a new file',
        },
      ],
    },
  ),
  command(
    'genesis succeed',
    'Sign the block of the next authority key',
    'Creates the genesis block with the next key of the authority and the history of its former keys, both signed by the root key. The next key may be a former key, which undoes a succession. Run it on the offline machine that has the root key, with --genesis for the current block.',
    {
      options: [
        { flags: '--authority-key <key>', summary: 'Next authority key: a .pub file or base64', required: true },
        { flags: '--former-key-id <id>', summary: 'Key id of the current key (NA_KEY_ID)', required: true },
        { flags: '--root-private-key <file>', summary: 'Private key file of the root', required: true },
        { flags: '--out <file>', summary: 'File for the new block', required: true },
        { flags: '--out-history <file>', summary: 'File for the key history', required: true },
        { flags: '--key-history <file>', summary: 'Current key history, after an earlier succession' },
        { flags: '--valid-for <time span>', summary: 'Validity of the next key; default: as the current key' },
        { flags: '--overlap <time span>', summary: 'How long the current key may still sign', default: '720h' },
      ],
      examples: [
        {
          line: 'chancery genesis succeed --genesis genesis.signed.json --authority-key na-2.pub --former-key-id na-1 --root-private-key root.key --out genesis-2.signed.json --out-history key-history.json',
          summary: 'Create the first succession',
        },
        {
          line: 'chancery genesis succeed --genesis genesis-2.signed.json --key-history key-history.json --authority-key na-1.pub --former-key-id na-2 --root-private-key root.key --out genesis-3.signed.json --out-history key-history-3.json',
          summary: 'Undo it: return to the former key',
        },
      ],
    },
  ),
  command(
    'genesis fetch',
    'Fetch the newest genesis block and key history',
    'Fetches the newest genesis block and key history and accepts them if the root key of the given block signed them. Stores them in keys.json next to that block, for all commands that use the block. Running nodes do this automatically.',
    {
      options: [
        { flags: '--out <file>', summary: 'Also write the newest block to a new file' },
        { flags: '--out-history <file>', summary: 'Also write the key history to a new file' },
      ],
      examples: [
        {
          line: 'chancery genesis fetch --genesis genesis.json --url https://na.example.org',
          summary: 'Run it on the machine of an operator or an auditor',
        },
      ],
    },
  ),
]
