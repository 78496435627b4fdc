import { type Command, LIST_OPTIONS, REVOKING_OPTIONS } from './command.ts'

export const attestationCommands: readonly Command[] = [
  {
    path: ['attestation', 'issue'],
    summary: 'Issue a membership attestation',
    description:
      'Signs that a person, agent or service is a member of this network. Partner networks can verify the record.',
    arguments: [{ name: 'subject', summary: 'Name of the member, 1 to 256 characters', required: true }],
    options: [
      {
        flags: '--role <role>',
        summary: 'Role of the member, for example role:client',
        repeatable: true,
        required: true,
      },
      { flags: '--validity-hours <n>', summary: 'Validity in hours, 1 to 26280', default: '168' },
      { flags: '--public-key <key>', summary: 'Key bound to the subject: a .pub file or base64' },
      {
        flags: '--capability <name>',
        summary: 'Capability that decisions may allow, for example invoice.pay or invoice.*',
        repeatable: true,
      },
      { flags: '--claim <name=value>', summary: 'Claim about the member, as text', repeatable: true },
      { flags: '--claims <file>', summary: 'JSON file with claims' },
      { flags: '--out <file>', summary: 'Write the signed record to a new file' },
    ],
    examples: [
      { line: 'chancery attestation issue alice@example --role role:client', summary: 'Valid for a week' },
      {
        line: 'chancery attestation issue agent-7 --role role:client --capability invoice.pay --public-key agent-7.pub --out agent-7.json',
        summary: 'Give the holder of a key one capability, and save the record',
      },
    ],
    needs: 'operator',
  },
  {
    path: ['attestation', 'revoke'],
    summary: 'Revoke an attestation',
    description: 'Revokes an attestation permanently and adds it to the revocation feed that partner networks import.',
    arguments: [{ name: 'id', summary: 'Id of the attestation', required: true }],
    options: [
      { flags: '--reason <text>', summary: 'Reason, published in the feed', default: 'unspecified' },
      ...REVOKING_OPTIONS,
    ],
    examples: [
      {
        line: 'chancery attestation revoke a77e57a7-0000-4000-8000-000000000001 --reason left-the-team',
        summary: 'Show the preview, ask, then revoke',
      },
    ],
    needs: 'operator',
  },
  {
    path: ['attestation', 'list'],
    summary: 'List attestations',
    description:
      'Lists the attestations of this network, oldest first. A network may show only the count to unauthenticated callers.',
    arguments: [],
    options: [
      { flags: '--subject <id>', summary: 'Only attestations of this subject' },
      { flags: '--status <word>', summary: 'Only entries with this status', choices: ['active', 'revoked'] },
      { flags: '--signed', summary: 'Sign the request as operator, to get the entries and not only the count' },
      ...LIST_OPTIONS,
    ],
    examples: [
      { line: 'chancery attestation list --status active', summary: 'List the first 50' },
      { line: 'chancery attestation list --all --signed --json', summary: 'List all entries as operator, in JSON' },
    ],
    needs: 'nothing',
  },
  {
    path: ['attestation', 'verify'],
    summary: 'Verify an attestation',
    description:
      'Reports whether the authority accepts an attestation by a treaty or a recognition policy. Without --issuer-key only treaties of this authority count; with it, the verdict applies only to you. Exit code 1 if the attestation is not accepted.',
    arguments: [{ name: 'file', summary: 'JSON file with the attestation', required: true }],
    options: [
      { flags: '--treaty <treaty>', summary: 'Treaty with the issuer: an id or a .json file' },
      {
        flags: '--issuer-key <key>',
        summary: "Key you trust for the issuer of a partner's treaty: a .pub file or base64",
        repeatable: true,
      },
      { flags: '--policy <file>', summary: 'Recognition policy to use; default: the active one' },
    ],
    examples: [
      {
        line: 'chancery attestation verify member.json --treaty 73ea7100-0000-4000-8000-000000000001',
        summary: 'Verify a member of a partner network',
      },
      { line: 'chancery attestation verify member.json', summary: 'Verify with the active recognition policy' },
    ],
    needs: 'nothing',
  },
]
