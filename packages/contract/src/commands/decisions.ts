import { ALLOW_HTTP, type Command, DRY_RUN, KEY_HISTORY, OUT, YES, command } from './command.ts'

/** Kinds of files that `verify` knows besides single records; `--as` also takes the kinds of records. */
export const decisionCommands: readonly Command[] = [
  command(
    'ask',
    'Ask for a decision: allowed or denied',
    'Asks the authority whether a request is allowed, and verifies the decision. The decision is stored as evidence, also when it is denied. Exit code 1 if it is denied, 3 if there is no decision or a person must approve it first.',
    {
      arguments: [{ name: 'capability', summary: 'Requested capability', required: true }],
      options: [
        { flags: '--attestation <id|file>', summary: 'Id or file of the attestation' },
        { flags: '--parameter <name=value>', summary: 'Value that policies read', repeatable: true },
        { flags: '--context <file>', summary: 'Parameters and attributes from JSON or YAML' },
        { flags: '--resource <id>', summary: 'Also return the newest evidence of this resource' },
        { flags: '--agreement <file>', summary: 'Ask on an agreement instead; needs --as operator' },
        { flags: '--as <who>', summary: 'Whose key asks', choices: ['node', 'operator'], default: 'node' },
        { flags: '--issuer <network>', summary: 'The partner that issued an attestation from a file' },
        { flags: '--member-key <file>', summary: 'Key of a member of a partner, which has no certificate here' },
        { flags: '--treaty <id>', summary: 'Consider this treaty only' },
        { flags: '--approval <id>', summary: 'Use this approval of the same request' },
        { flags: '--wait <time span>', summary: 'When a person must approve it, wait so long and ask again' },
        { flags: '--out <file>', summary: 'Write decision, justification and context' },
      ],
      examples: [
        {
          line: 'chancery ask invoice.pay --home ./agent --attestation pay-agent.json',
          summary: 'Ask with the key of a node',
        },
        {
          line: 'chancery ask invoice.pay --attestation pay-agent.json --parameter amount=900 --as operator --json',
          summary: 'Ask as operator, for a member',
        },
      ],
      needs: 'node',
    },
  ),
  command(
    'verify',
    'Verify any signed file, offline',
    'Verifies a signed file and prints what that proves: records, packs, bundles, receipts, exports, archives, agent cards, gateway states and releases. Sends nothing, except for an address, a card, and an agreement without keys in a selected network. Exit code 1 if it is not valid, 3 if a key or a list is missing.',
    {
      arguments: [{ name: 'file', summary: 'The file, folder or address, unchanged', required: true }],
      options: [
        { flags: '--key <key>', summary: 'A key that must have signed; <name>=<key> for one party', repeatable: true },
        { flags: '--as <kind>', summary: 'Fail if the file is of another kind' },
        { flags: '--at <time>', summary: 'Check for this time instead of now' },
        { flags: '--crl <file>', summary: 'Revocation list, for certificates and cards' },
        { flags: '--no-revocation', summary: 'Accept that the revocation of a certificate is not checked' },
        KEY_HISTORY,
        {
          flags: '--with <file>',
          summary: 'A record that belongs to it: treaty, attestation, context, policy, anchors',
          repeatable: true,
        },
        { flags: '--digest <hex>', summary: 'Digest of the entry that a receipt proves' },
        { flags: '--floors <file>', summary: 'Saved status --json of the gateway, for its state' },
        { flags: '--node <node>', summary: 'Only the card of this node' },
        { flags: '--role <role>', summary: 'Only a card whose certificate has this role', repeatable: true },
        { flags: '--partner-url <url>', summary: 'Authority of the partner network that a card is of' },
        ALLOW_HTTP,
        { flags: '--replay', summary: 'Compute the decision of a pack again' },
        { flags: '--live', summary: 'Compare an archive with the running store' },
      ],
      examples: [
        { line: 'chancery verify evidence.jsonl --genesis ./harbour/genesis.json', summary: 'An export' },
        { line: 'chancery verify pack.json --genesis ./harbour/genesis.json --replay', summary: 'A decision' },
        {
          line: 'chancery verify decision.json --with context.json --with member.json --with treaty.json --genesis alpha.json',
          summary: "Follow a decision on a partner's member to all it rests on",
        },
        {
          line: 'chancery verify agreement.json --key ALPHA=alpha.pub --key BETA=beta.pub',
          summary: 'Check that both parties signed',
        },
        { line: 'chancery verify ./release --key chancery-release.pub', summary: 'A downloaded release' },
      ],
    },
  ),
]

const KIND = { name: 'policy', summary: 'Id of a policy; or network, recognition, license', required: true } as const

export const policyCommands: readonly Command[] = [
  command(
    'policy new',
    'Write an example policy with its tests',
    'Writes a commented policy and test cases. The policy states who may use a capability; the cases state the expected decision for example requests.',
    {
      options: [
        { flags: '--name <name>', summary: 'Id of the policy and prefix of the file names', required: true },
        { flags: '--out <dir>', summary: 'Folder to write to', default: '.' },
      ],
      examples: [{ line: 'chancery policy new --name invoices', summary: 'Write invoices.policy.yaml and its cases' }],
    },
  ),
  command(
    'policy test',
    'Run the tests of a folder, offline',
    'Runs the cases of a folder (*.cases.json, *.cases.yaml) against its policies (*.policy.json, *.policy.yaml) on this machine. Cedar gates use the *.cedar and *.cedarschema files of the folder. Exit code 1 if a decision differs from the expected one.',
    {
      arguments: [{ name: 'dir', summary: 'Folder with policies and cases', required: true }],
      options: [
        { flags: '--junit <file>', summary: 'Also write the results as JUnit XML' },
        { flags: '--require-coverage', summary: 'Fail if no case reaches a gate' },
      ],
      examples: [
        { line: 'chancery policy test policies', summary: 'Show differences and gates without a case' },
        { line: 'chancery policy test policies --junit results.xml --json', summary: 'Run in a pipeline' },
      ],
    },
  ),
  command(
    'policy publish',
    'Check and store a version',
    'Checks a policy at the authority and stores it as a new version; a boundary policy is not used before policy activate, the others are used at once. The kind is detected: boundary, network, recognition, license. Exit code 1 if the policy has problems.',
    {
      arguments: [{ name: 'file', summary: 'Policy file, JSON or YAML', required: true }],
      options: [
        { ...DRY_RUN, summary: 'Check only; store nothing' },
        { flags: '--decisions', summary: 'With --dry-run: compute stored decisions again, show changes' },
        { flags: '--contexts <file>', summary: 'With --dry-run: compute these requests' },
        { flags: '--activate', summary: 'Also activate, after the preview and a question' },
        { flags: '--cedar <file>', summary: 'Cedar policy set for the gates of type cedar.v1 that name none' },
        { flags: '--schema <file>', summary: 'Cedar schema for these gates' },
        { flags: '--out <file>', summary: 'Write the signed version' },
        YES,
      ],
      examples: [
        {
          line: 'chancery policy publish invoices.policy.yaml --dry-run --decisions',
          summary: 'What would change for stored decisions',
        },
        { line: 'chancery policy publish invoices.policy.yaml --activate', summary: 'Store it and use it' },
      ],
      needs: 'operator',
    },
  ),
  command(
    'policy activate',
    'Use a version',
    'Makes a stored version the active one of its policy. To roll back, activate an earlier version. With contexts it first shows which decisions would change.',
    {
      arguments: [KIND, { name: 'version', summary: 'Number of the version; id of a network policy', required: true }],
      options: [
        { flags: '--contexts <file>', summary: 'JSON or YAML file with contexts or cases to compute first' },
        { flags: '--decisions', summary: 'Compute the newest 1000 decisions of the evidence store first' },
        DRY_RUN,
        YES,
      ],
      examples: [
        {
          line: 'chancery policy activate invoices 2 --contexts invoices.cases.yaml',
          summary: 'Show changes, ask, then activate',
        },
        { line: 'chancery policy activate network policy-HARBOUR-v0.1', summary: 'Return to a network policy' },
      ],
      needs: 'operator',
    },
  ),
  command(
    'policy deactivate',
    'Stop using a version',
    'Deactivates the active version. The other policies then decide the requests that it denied.',
    {
      arguments: [
        { name: 'policy', summary: 'Id of the policy', required: true },
        { name: 'version', summary: 'Number of the version', required: true },
      ],
      options: [DRY_RUN, YES],
      examples: [{ line: 'chancery policy deactivate invoices 2', summary: 'Ask, then deactivate' }],
      needs: 'operator',
    },
  ),
  command(
    'policy list',
    'List policies of all kinds',
    'Lists every stored version with its state, and whether the active set of boundary policies can decide.',
    {
      examples: [{ line: 'chancery policy list', summary: 'By kind and policy, newest version first' }],
      needs: 'operator',
    },
  ),
  command(
    'policy show',
    'Show a policy: boundary, network or recognition policy',
    'Prints a policy and its versions, newest first. The words network, recognition and license show the policies of these kinds, which are public.',
    {
      arguments: [KIND],
      options: [
        { flags: '--licensee <network>', summary: 'The license of this network; default: the newest of all' },
        OUT,
      ],
      examples: [
        { line: 'chancery policy show invoices --json', summary: 'All versions with their signed content' },
        { line: 'chancery policy show network', summary: 'The policy of the network' },
        { line: 'chancery policy show license --licensee BOLT-NET', summary: 'The license in force for BOLT-NET' },
      ],
    },
  ),
]
