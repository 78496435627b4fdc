import type { Command } from './command.ts'

export const verifyCommands: readonly Command[] = [
  {
    path: ['verify'],
    summary: 'Verify any signed record, offline',
    description:
      'Detects the kind of a record, verifies its form, signature and time on this machine, and prints what that proves and what it does not prove. The keys come from a genesis block or from flags; an evidence pack needs a trusted genesis block. Exit code 1 if the record is not valid, 2 if a key is missing.',
    arguments: [{ name: 'file', summary: 'JSON file with the record, unchanged', required: true }],
    options: [
      { flags: '--key <key>', summary: 'Key of the signer: a .pub file or base64', repeatable: true },
      {
        flags: '--offerer-key <key>',
        summary: 'Key of the offerer, for an agreement: a .pub file or base64',
        repeatable: true,
      },
      {
        flags: '--responder-key <key>',
        summary: 'Key of the responder, for an agreement: a .pub file or base64',
        repeatable: true,
      },
      { flags: '--genesis <file>', summary: 'Genesis block of the authority that must have signed' },
      { flags: '--key-history <file>', summary: 'Former keys of the authority, signed by the same root' },
      {
        flags: '--validator-key <id=key>',
        summary: 'Key of a validator, for a consensus proof',
        repeatable: true,
      },
      { flags: '--commitment <file>', summary: 'Commitment, for the proof of a capability' },
      { flags: '--context <file>', summary: "Context of a decision on a partner's member" },
      { flags: '--attestation <file>', summary: 'Attestation that the partner signed' },
      { flags: '--treaty <file>', summary: 'Treaty by which the authority recognises the partner' },
    ],
    examples: [
      { line: 'chancery verify pack.json --genesis genesis.json', summary: 'Verify an evidence pack' },
      { line: 'chancery verify crl.json --genesis genesis.json', summary: 'Check that this network signed the list' },
      { line: 'chancery verify treaty.json --key partner.pub --json', summary: 'Print the verdict in JSON' },
      {
        line: 'chancery verify agreement.json --offerer-key alpha.pub --responder-key beta.pub',
        summary: 'Check that both parties signed',
      },
      {
        line: 'chancery verify proof.json --commitment commitment.json --genesis genesis.json',
        summary: 'Verify the proof of a capability',
      },
      {
        line: 'chancery verify decision.json --context context.json --attestation member.json --treaty treaty.json --genesis alpha.json',
        summary: "Follow a decision on a partner's member to all it rests on",
      },
    ],
    needs: 'nothing',
  },
  {
    path: ['verify', 'pack'],
    summary: 'Verify an evidence pack, offline',
    description:
      'Verifies every record, digest, proof and signature of an evidence pack or of its page form on this machine, explains the decision, and lists what is not proven. Exit code 1 if a check failed, 2 without --genesis: then nothing is proven.',
    arguments: [{ name: 'file', summary: 'Pack or page, unchanged', required: true }],
    options: [
      { flags: '--genesis <file>', summary: 'Genesis block that you trust, from another source than the pack' },
      {
        flags: '--key-history <file>',
        summary: 'Former keys of the authority, for a pack from before the trusted block',
      },
      {
        flags: '--executor-keys <file>',
        summary: 'Keys of executors that you trust, as printed by executor-key list --json',
      },
      { flags: '--witness <key>', summary: 'Verifier key of a witness that you trust', repeatable: true },
    ],
    examples: [
      { line: 'chancery verify pack pack.json --genesis genesis.json', summary: 'Verify a pack' },
      { line: 'chancery verify pack pack.html --genesis genesis.json --json', summary: 'Print every check in JSON' },
    ],
    needs: 'nothing',
  },
  {
    path: ['verify', 'bundle'],
    summary: 'Verify a decision bundle, offline',
    description:
      'Verifies a Sigstore bundle or DSSE envelope of evidence bundle on this machine: its signature, its statement and the signature of the authority on the decision in it. Exit code 1 if one does not hold.',
    arguments: [{ name: 'file', summary: 'Bundle or envelope, unchanged', required: true }],
    options: [
      {
        flags: '--genesis <file>',
        summary: 'Genesis block that you trust, from another source than the bundle',
        required: true,
      },
      { flags: '--key-history <file>', summary: 'Former keys of the authority, for a bundle that one of them signed' },
    ],
    examples: [
      { line: 'chancery verify bundle decision.sigstore.json --genesis genesis.json', summary: 'Verify a bundle' },
    ],
    needs: 'nothing',
  },
  {
    path: ['verify', 'receipt'],
    summary: 'Verify a receipt of the evidence log, offline',
    description:
      'Verifies a .tlog-proof or a COSE receipt: the entry is in the log, and the log signed the tree. Keys and quorum come from a policy file, or the keys from a genesis block. Exit code 1 if the receipt is not valid.',
    arguments: [{ name: 'file', summary: 'The receipt', required: true }],
    options: [
      { flags: '--policy <file>', summary: 'Logs, witnesses and quorum that you trust (C2SP tlog-policy)' },
      { flags: '--genesis <file>', summary: 'Genesis block that you trust, instead of a policy' },
      { flags: '--key-history <file>', summary: 'Former keys of the authority, signed by the same root' },
      { flags: '--log-identity <file>', summary: 'Name and keys of the log, as GET /evidence-log returns them' },
      { flags: '--line <file>', summary: 'Stored line of the entry; a COSE receipt needs it or --digest' },
      { flags: '--digest <hex>', summary: 'Digest of the entry' },
    ],
    examples: [
      { line: 'chancery verify receipt d.tlog-proof --policy acme.policy', summary: 'Verify with witnesses' },
      {
        line: 'chancery verify receipt d.cose --line d.line --genesis genesis.json',
        summary: 'Verify a COSE receipt',
      },
    ],
    needs: 'nothing',
  },
]
