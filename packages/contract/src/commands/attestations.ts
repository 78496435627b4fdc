import type { Command } from './command.ts'
import { LIST_OPTIONS, REVOKING_OPTIONS } from './revoking.ts'

export const attestationCommands: readonly Command[] = [
  {
    path: ['attestation', 'issue'],
    summary: 'Attest a membership',
    description:
      'Signs that a person, agent or service is a member of this network, as a record other sovereigns can check.',
    arguments: [{ name: 'subject', summary: 'Who is attested, 1 to 256 characters.', required: true }],
    options: [
      {
        flags: '--role <role>',
        summary: 'Role of the member, for example role:client.',
        repeatable: true,
        required: true,
      },
      { flags: '--validity-hours <n>', summary: 'How long it holds, 1 to 26280.', default: '168' },
      { flags: '--public-key <key>', summary: 'Key bound to the subject: a .pub file or base64.' },
      { flags: '--claim <name=value>', summary: 'A statement about the member, as text.', repeatable: true },
      { flags: '--claims <file>', summary: 'JSON file with claims of any form.' },
      { flags: '--out <file>', summary: 'Write the signed record to a new file.' },
    ],
    examples: [
      { line: 'chancery attestation issue alice@example --role role:client', summary: 'For a week.' },
      {
        line: 'chancery attestation issue agent-7 --role role:service --public-key agent-7.pub --out agent-7.json',
        summary: 'Bound to a key, kept in a file.',
      },
    ],
    needs: 'operator',
  },
  {
    path: ['attestation', 'revoke'],
    summary: 'Revoke an attestation',
    description: 'Withdraws an attestation for good and puts it into the feed that other sovereigns import.',
    arguments: [{ name: 'id', summary: 'Id of the attestation.', required: true }],
    options: [{ flags: '--reason <text>', summary: 'Why, for the feed.', default: 'unspecified' }, ...REVOKING_OPTIONS],
    examples: [
      {
        line: 'chancery attestation revoke a77e57a7-0000-4000-8000-000000000001 --reason left-the-team',
        summary: 'Shows what follows, asks, then revokes.',
      },
    ],
    needs: 'operator',
  },
  {
    path: ['attestation', 'list'],
    summary: 'List attestations',
    description: 'Lists what this network attested, oldest first. A network may show strangers the number only.',
    arguments: [],
    options: [
      { flags: '--subject <id>', summary: 'Only those of this subject.' },
      { flags: '--status <word>', summary: 'Only those with this status.', choices: ['active', 'revoked'] },
      { flags: '--signed', summary: 'Ask as operator, where the network shows strangers the number only.' },
      ...LIST_OPTIONS,
    ],
    examples: [
      { line: 'chancery attestation list --status active', summary: 'The first 50.' },
      { line: 'chancery attestation list --all --signed --json', summary: 'All, as operator, for a program.' },
    ],
    needs: 'nothing',
  },
  {
    path: ['attestation', 'verify'],
    summary: 'Verify an attestation',
    description:
      'Says whether the authority accepts an attestation: on the strength of one treaty, or under a recognition ' +
      'policy. Without --issuer-key only a treaty of the authority itself counts: recognition is never passed on by a ' +
      'partner. With it the judgement is yours, and the answer says that it does not count at the authority. Exits ' +
      'with a failure when it is not accepted.',
    arguments: [{ name: 'file', summary: 'JSON file with the attestation.', required: true }],
    options: [
      { flags: '--treaty <treaty>', summary: 'Treaty that recognises its issuer: an id, or a .json file.' },
      {
        flags: '--issuer-key <key>',
        summary: 'Key you trust for the issuer of a foreign treaty: a .pub file or base64.',
        repeatable: true,
      },
      { flags: '--policy <file>', summary: 'Recognition policy to judge by; else the active one.' },
    ],
    examples: [
      {
        line: 'chancery attestation verify member.json --treaty 73ea7100-0000-4000-8000-000000000001',
        summary: 'A member of a recognised sovereign.',
      },
      { line: 'chancery attestation verify member.json', summary: 'Under the active recognition policy.' },
    ],
    needs: 'nothing',
  },
]
