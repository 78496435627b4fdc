import { type Command, REVOKING_OPTIONS } from './command.ts'

export const admissionCommands: readonly Command[] = [
  {
    path: ['admission', 'add'],
    summary: 'Add an admission rule',
    description:
      'Lets identities of another platform join without an invite. The authority signs the rule, and it cannot be changed afterwards. A rule must name an identity, not only an issuer.',
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
      {
        flags: '--expired-certificates',
        summary: 'Nodes of this network whose certificate expired; needs --grace-hours',
      },
      {
        flags: '--grace-hours <n>',
        summary: 'Hours after its end during which a certificate admits its node, 1 to 720',
      },
      { flags: '--claim <name=value>', summary: 'A claim that must have this value', repeatable: true },
      { flags: '--keys-url <url>', summary: 'Where the issuer publishes its keys or its trust bundle' },
      { flags: '--keys-file <file>', summary: 'Pin the keys: a JWK set or SPIFFE bundle in a file' },
      { flags: '--plain-audience', summary: 'For platforms with a fixed audience: it names the authority only' },
      { flags: '--algorithm <name>', summary: 'A signature algorithm; default RS256 and ES256', repeatable: true },
      { flags: '--role <role>', summary: 'Role of the nodes, for example role:client', repeatable: true },
      { flags: '--max-validity-hours <n>', summary: 'Maximum validity of certificates, 1 to 24', default: '2' },
      { flags: '--max-joins <n>', summary: 'The rule ends after so many joins' },
      { flags: '--valid-from <time>', summary: 'Start of the rule' },
      { flags: '--expires <time>', summary: 'End of the rule' },
    ],
    examples: [
      {
        line: 'chancery admission add ci --github acme/print --repository-id 456789 --environment production --role role:client',
        summary: 'One repository of GitHub, only its environment production',
      },
      {
        line: 'chancery admission add api --trust-domain prod.example --spiffe-id spiffe://prod.example/api --keys-url https://spire.example/bundle',
        summary: 'One workload of SPIFFE',
      },
      {
        line: 'chancery admission add again --expired-certificates --grace-hours 72 --role role:client',
        summary: 'Nodes that were off for up to three days after their certificate ended',
      },
    ],
    needs: 'operator',
  },
  {
    path: ['admission', 'list'],
    summary: 'List admission rules',
    description: 'Lists the rules, with what they admit, how many nodes joined by them, and who added or removed them.',
    arguments: [],
    options: [{ flags: '--removed', summary: 'Also list removed rules' }],
    examples: [{ line: 'chancery admission list', summary: 'List the rules in force' }],
    needs: 'operator',
  },
  {
    path: ['admission', 'test'],
    summary: 'Test an admission rule',
    description:
      'Says whether a rule would admit a token, and why not. No node joins, and the token can still be used. Exit code 1 if it would not.',
    arguments: [{ name: 'rule_id', summary: 'Name of the rule', required: true }],
    options: [
      { flags: '--token-file <file>', summary: 'File with the token; default: standard input' },
      { flags: '--node-key <key>', summary: 'Node key that the audience must name: a .pub file or base64' },
    ],
    examples: [{ line: 'chancery admission test ci --token-file token.jwt', summary: 'Would this token be admitted?' }],
    needs: 'operator',
  },
  {
    path: ['admission', 'remove'],
    summary: 'Remove an admission rule',
    description:
      'Ends a rule permanently: no join and no renewal by it, from the next request on. Certificates it issued stay valid for their hours; the output names them for chancery revoke.',
    arguments: [{ name: 'rule_id', summary: 'Name of the rule', required: true }],
    options: [
      { flags: '--reason <text>', summary: 'Reason, written to the audit log', default: 'unspecified' },
      ...REVOKING_OPTIONS,
    ],
    examples: [{ line: 'chancery admission remove ci --yes', summary: 'Stop joins and renewals at once' }],
    needs: 'operator',
  },
]
