import { ALLOW_HTTP, type Command, type CommandOption, DRY_RUN, LIST_OPTIONS } from './command.ts'
import { OUT, REASON, REVOKING_OPTIONS, YES, command } from './command.ts'

const SOVEREIGN = { name: 'partner', summary: 'Name of the partner', required: true } as const
const ROOT_KEY: CommandOption = { flags: '--root-key <key>', summary: 'Its root key: a .pub file or base64' }
const AUTHORITY_KEY: CommandOption = {
  flags: '--authority-key <key>',
  summary: 'Its authority key, in place of the root key: exactly these keys are accepted',
  repeatable: true,
}
const FIRST_USE: CommandOption = {
  flags: '--trust-first-use',
  summary: 'Accept the identity that answers now; prints its fingerprint',
}
const PULLS: readonly CommandOption[] = [
  { flags: '--every <time span>', summary: 'Time between two pulls, 60s to 1d; default: 300s' },
  { flags: '--max-feed-age <time span>', summary: 'Oldest feed that decisions accept; 0s: any' },
]
const CAPABILITY: CommandOption = {
  flags: '--capability <pattern>',
  summary: 'Capability that decisions may allow its members, or a pattern such as ledger.*',
  repeatable: true,
}
const ROLE: CommandOption = { flags: '--role <role>', summary: 'Role accepted from its members', repeatable: true }
const VALID_FOR: CommandOption = { flags: '--valid-for <time span>', summary: 'Validity of the treaty', default: '7d' }

export const partnerCommands: readonly Command[] = [
  command(
    'partner inspect',
    'Inspect a network that is not trusted yet',
    'Reads the public records of an authority and compares them with the values you received out of band. With --policy-fragment, --report or --previous it runs all checks of a gateway; a former key or block is followed by the key history that the root key signed. Needs no key and changes nothing; exit code 1 if something does not match.',
    {
      arguments: [{ name: 'address', summary: 'Base URL of the other authority', required: true }],
      options: [
        { flags: '--name <name>', summary: 'Its expected name' },
        ROOT_KEY,
        { ...AUTHORITY_KEY, summary: 'Its authority key: a .pub file or base64' },
        FIRST_USE,
        ALLOW_HTTP,
        { flags: '--report <file>', summary: 'Write the report to a new file' },
        { flags: '--policy-fragment <file>', summary: 'Write the network for a gateway policy to a new file' },
        { flags: '--previous <file>', summary: 'Earlier fragment; no sequence may be lower than in it' },
      ],
      examples: [
        {
          line: 'chancery partner inspect https://na.partner.example --root-key partner-root.pub',
          summary: 'Check that the network has this root key',
        },
        {
          line: 'chancery partner inspect https://na.partner.example --genesis partner.json --policy-fragment partner-policy.json',
          summary: 'Merge the fragment into a gateway policy, then run --check-config and reload',
        },
      ],
    },
  ),
  command(
    'partner add',
    'Register a partner, and issue a treaty',
    'Registers another network whose published material this authority reads. Its genesis block is read and compared with the given key first. With --role it also issues the treaty by which its members are recognised.',
    {
      arguments: [{ name: 'address', summary: 'Base URL of the other authority', required: true }],
      options: [
        ROOT_KEY,
        AUTHORITY_KEY,
        FIRST_USE,
        { flags: '--name <name>', summary: 'Its expected name; default: the name in its genesis block' },
        { ...ROLE, summary: 'Issue a treaty that accepts this role' },
        CAPABILITY,
        VALID_FOR,
        { flags: '--import-feeds', summary: 'Import its revocation feed with every pull' },
        ...PULLS,
        ALLOW_HTTP,
        { flags: '--label <text>', summary: 'Text shown with the partner, 1 to 64 characters' },
        { flags: '--defer', summary: 'Read nothing now; needs --name' },
        DRY_RUN,
        YES,
      ],
      examples: [
        {
          line: 'chancery partner add https://na.partner.example --root-key partner-root.pub --import-feeds',
          summary: 'Read its material every 300 seconds and import its revocations',
        },
        {
          line: "chancery partner add https://na.partner.example --root-key partner-root.pub --role role:client --capability 'ledger.*'",
          summary: 'Show the terms, ask, then also issue the treaty',
        },
      ],
      needs: 'operator',
    },
  ),
  command('partner list', 'List partners', 'Lists the partners of this authority by name, with state and last pull.', {
    options: [
      {
        flags: '--state <word>',
        summary: 'Only partners in this state',
        choices: ['alarm', 'paused', 'new', 'fresh', 'watch', 'stale'],
      },
      ...LIST_OPTIONS,
    ],
    examples: [
      { line: 'chancery partner list', summary: 'All partners with their state' },
      { line: 'chancery partner list --state alarm', summary: 'Partners with an open alarm' },
    ],
    needs: 'operator',
  }),
  command(
    'partner show',
    'Show a partner',
    'Prints one partner with its keys, its feed, what was read from it, and its alarms. With --path-from it prints the shortest chain of active treaties, with exit code 1 if there is none: recognition is not transitive, and a member needs one direct treaty.',
    {
      arguments: [SOVEREIGN],
      options: [
        { flags: '--treaties', summary: 'The treaties that it reports; they decide nothing here' },
        { flags: '--path-from <network>', summary: 'The chain of treaties from this network to it' },
        ...LIST_OPTIONS,
      ],
      examples: [
        { line: 'chancery partner show PARTNER-NET', summary: 'State, keys, feed and alarms' },
        { line: 'chancery partner show PARTNER-NET --path-from HARBOUR', summary: 'Print the path, or why none' },
      ],
    },
  ),
  command(
    'partner set',
    'Change a partner',
    'Changes what is given and nothing else. With --root-key or --authority-key it pins other keys, which the partner must show: what was read under the former ones is removed, and imported revocations stay. With --clear-alarm it ends an alarm after you found its cause; nothing becomes unrevoked.',
    {
      arguments: [SOVEREIGN],
      options: [
        { flags: '--address <url>', summary: 'New base URL' },
        { flags: '--import-feeds <choice>', summary: 'Import its revocation feed', choices: ['on', 'off'] },
        ...PULLS,
        { flags: '--default-feed-age', summary: 'Oldest feed as the setting of the authority has it' },
        { flags: '--allow-http <choice>', summary: 'Allow http to a private address', choices: ['on', 'off'] },
        { flags: '--pause', summary: 'Stop the pulls' },
        { flags: '--resume', summary: 'Continue the pulls' },
        { flags: '--label <text>', summary: 'New label, 1 to 64 characters' },
        { flags: '--remove-label', summary: 'Remove the label' },
        ROOT_KEY,
        AUTHORITY_KEY,
        { flags: '--clear-alarm <alarm>', summary: 'Id of an alarm to clear' },
        REASON,
        YES,
      ],
      examples: [
        { line: 'chancery partner set PARTNER-NET --every 600s', summary: 'Pull it every 600 seconds' },
        {
          line: 'chancery partner set PARTNER-NET --root-key partner-root-2.pub --reason new-root',
          summary: 'Accept its new root key',
        },
      ],
      needs: 'operator',
    },
  ),
  command(
    'partner pull',
    'Pull a partner now',
    'Reads the published material of a partner now, at most once in 10 seconds. Exit code 1 if the outcome is neither ok nor unchanged.',
    {
      arguments: [SOVEREIGN],
      examples: [{ line: 'chancery partner pull PARTNER-NET', summary: 'Read its material now' }],
      needs: 'operator',
    },
  ),
  command(
    'partner remove',
    'Remove a partner',
    'Ends the pulls and removes the treaties it reported. Own treaties and imported revocations stay: end a treaty with treaty revoke.',
    {
      arguments: [SOVEREIGN],
      options: [{ ...REASON, default: 'unspecified' }, ...REVOKING_OPTIONS],
      examples: [
        { line: 'chancery partner remove PARTNER-NET --dry-run', summary: 'Only show which treaties stay in force' },
        { line: 'chancery partner remove PARTNER-NET --reason ended', summary: 'Show it, ask, then remove' },
      ],
      needs: 'operator',
    },
  ),
  command(
    'partner export-feed',
    'Export the revocation feed for partners',
    'Prints the signed list of revoked attestations of this network, for partner networks to import.',
    {
      options: [OUT],
      examples: [{ line: 'chancery partner export-feed --out feed.json', summary: 'Write the feed to a file' }],
    },
  ),
  command(
    'partner import-feed',
    'Import the revocation feed of a partner',
    'Imports the revocations of a partner network without a connection, verified with the keys of an active treaty or with a given key; a large feed of an address is imported in parts. Imported revocations are permanent. Exit code 0 also if the authority already has this feed.',
    {
      arguments: [{ name: 'feed', summary: 'JSON file with the feed, or the URL of its authority', required: true }],
      options: [
        { flags: '--issuer <id>', summary: 'Network that must have issued the feed' },
        { flags: '--key <key>', summary: 'Key that must have signed: .pub file or base64', repeatable: true },
        { flags: '--accept-sequence-jump', summary: 'Accept a sequence that is over a million higher than the last' },
      ],
      examples: [
        { line: 'chancery partner import-feed https://na.partner.example', summary: 'Fetch it, verify by the treaty' },
        { line: 'chancery partner import-feed feed.json --issuer PARTNER-NET', summary: 'Import from a file' },
      ],
      needs: 'operator',
    },
  ),
]

const ID = { name: 'id', summary: 'Id of the treaty', required: true } as const
const SCOPE: readonly CommandOption[] = [
  ROLE,
  {
    flags: '--accept-status <word>',
    summary: 'Accepted status of its attestations; default: active',
    repeatable: true,
  },
  CAPABILITY,
]

export const treatyCommands: readonly Command[] = [
  command(
    'treaty issue',
    'Issue a treaty with a partner network',
    'Signs that this network recognises members of a partner network, within a scope and for a limited time. To check the partner network first, use partner add --role.',
    {
      arguments: [{ name: 'partner', summary: 'Name of the partner network', required: true }],
      options: [
        {
          flags: '--key <key>',
          summary: 'Key of its authority: .pub file or base64',
          repeatable: true,
          required: true,
        },
        ...SCOPE,
        { flags: '--valid-for <time span>', summary: 'Validity, 1h to 26280h', default: '7d' },
        { flags: '--metadata <name=value>', summary: 'Text shown with the treaty', repeatable: true },
      ],
      examples: [
        {
          line: 'chancery treaty issue PARTNER-NET --key partner-na.pub --role role:client --valid-for 30d',
          summary: 'Accept its clients for 30 days',
        },
      ],
      needs: 'operator',
    },
  ),
  command(
    'treaty renew',
    'Renew a treaty, or change its terms',
    'Issues the same treaty again, then ends the earlier one; recognition is not interrupted. With other keys, scope or validity it shows the difference and asks first. What you omit is copied from the earlier treaty.',
    {
      arguments: [ID],
      options: [
        { flags: '--key <key>', summary: 'New keys of its authority', repeatable: true },
        ...SCOPE,
        { flags: '--valid-for <time span>', summary: 'Validity; default: as long as the earlier treaty' },
        ...REVOKING_OPTIONS,
      ],
      examples: [
        { line: 'chancery treaty renew 73ea7100-0000-4000-8000-000000000001', summary: 'Renew for the same period' },
        {
          line: 'chancery treaty renew 73ea7100-0000-4000-8000-000000000001 --key partner-na-2.pub',
          summary: 'After the partner network changed its key',
        },
      ],
      needs: 'operator',
    },
  ),
  command(
    'treaty revoke',
    'Revoke a treaty',
    'Ends the recognition of a partner network. Its members are no longer accepted.',
    {
      arguments: [ID],
      options: [{ ...REASON, summary: 'Reason, public', default: 'unspecified' }, ...REVOKING_OPTIONS],
      examples: [
        { line: 'chancery treaty revoke 73ea7100-0000-4000-8000-000000000001 --dry-run', summary: 'Only a preview' },
        {
          line: 'chancery treaty revoke 73ea7100-0000-4000-8000-000000000001 --reason relationship-ended',
          summary: 'Show the preview, ask, then revoke the treaty',
        },
      ],
      needs: 'operator',
    },
  ),
  command(
    'treaty list',
    'List treaties',
    'Lists the treaties of this authority with their state, oldest first or by their end.',
    {
      options: [
        { flags: '--subject <id>', summary: 'Only treaties with this network' },
        {
          flags: '--state <word>',
          summary: 'Only treaties in this state',
          choices: ['active', 'expiring_soon', 'expired', 'revoked', 'replaced'],
        },
        { flags: '--prefix <text>', summary: 'Only networks whose name begins with this text' },
        { flags: '--by-end', summary: 'Order by the end of the treaties' },
        ...LIST_OPTIONS,
      ],
      examples: [
        { line: 'chancery treaty list --state active', summary: 'List recognised networks and expiry' },
        { line: 'chancery treaty list --state expiring_soon --by-end', summary: 'List what ends next' },
      ],
    },
  ),
  command(
    'treaty show',
    'Show and check a treaty',
    'Prints a treaty of this authority and reports whether it is valid. Exit code 1 if it is not. For a file use chancery verify.',
    {
      arguments: [ID],
      options: [OUT],
      examples: [{ line: 'chancery treaty show 73ea7100-0000-4000-8000-000000000001', summary: 'Show a treaty' }],
    },
  ),
]

const TERMS: readonly CommandOption[] = [
  {
    flags: '--capability <name>',
    summary: 'Capability, exactly as requests will name it',
    repeatable: true,
    required: true,
  },
  { flags: '--scope <file>', summary: 'JSON file with the scope: labels that both parties sign' },
  { flags: '--valid-from <time>', summary: 'Start of the agreement (ISO 8601); default: now' },
  { flags: '--valid-for <time span>', summary: 'Validity, 1h to 87600h', default: '30d' },
]

export const agreementCommands: readonly Command[] = [
  command(
    'agreement offer',
    'Offer an agreement',
    'Signs an offer of capabilities to a partner network, with its current state in the recognition graph. An offer to a network without a treaty cannot be accepted.',
    {
      arguments: [{ name: 'responder', summary: 'Network that receives the offer', required: true }],
      options: [
        ...TERMS,
        { flags: '--expires-in <time span>', summary: 'How long the offer can be accepted', default: '24h' },
        OUT,
      ],
      examples: [
        {
          line: 'chancery agreement offer PARTNER-NET --capability ledger.read --out offer.json',
          summary: 'Valid for 30 days, open for one day',
        },
      ],
      needs: 'operator',
    },
  ),
  command(
    'agreement counter',
    'Respond to an offer with other terms',
    'Signs other terms for an offer. They may ask for less than the offer, never for more.',
    {
      arguments: [{ name: 'offer', summary: 'JSON file with the offer', required: true }],
      options: [...TERMS, OUT],
      examples: [
        {
          line: 'chancery agreement counter offer.json --capability ledger.read --out counter.json',
          summary: 'Accept one of the offered capabilities',
        },
      ],
      needs: 'operator',
    },
  ),
  command(
    'agreement accept',
    'Accept an offer or a counter',
    'Signs the agreement for an offer, or for a counter to an offer of this authority.',
    {
      arguments: [{ name: 'offer', summary: 'JSON file with the offer', required: true }],
      options: [{ flags: '--counter <file>', summary: 'JSON file with the counter' }, OUT],
      examples: [
        { line: 'chancery agreement accept offer.json --out agreement.json', summary: 'Accept the offer unchanged' },
        {
          line: 'chancery agreement accept offer.json --counter counter.json --out agreement.json',
          summary: 'Accept the terms of the counter',
        },
      ],
      needs: 'operator',
    },
  ),
  command(
    'agreement cosign',
    'Sign an accepted agreement as the offerer',
    'Adds the signature of this authority to an agreement that the responder accepted. It is possible until one day after the end of the offer. An agreement counts when both parties have signed it.',
    {
      arguments: [{ name: 'agreement', summary: 'JSON file with the accepted agreement', required: true }],
      options: [
        { flags: '--offer <file>', summary: 'JSON file with the offer of this authority', required: true },
        OUT,
      ],
      examples: [
        {
          line: 'chancery agreement cosign half.json --offer offer.json --out agreement.json',
          summary: 'Complete the agreement',
        },
      ],
      needs: 'operator',
    },
  ),
]
