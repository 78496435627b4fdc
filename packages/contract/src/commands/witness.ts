import type { Command } from './command.ts'

/** Commands of the public evidence log and its witnesses. */
export const witnessCommands: readonly Command[] = [
  {
    path: ['evidence', 'witness'],
    summary: 'Check that the evidence log is append-only',
    description:
      'Stores the last checkpoint of the log, checks that the current one extends it and, with a key, cosigns it; exit code 1 if entries were changed or removed. With --listen it serves the witness protocol (C2SP tlog-witness) to the logs of --logs until it is stopped. Use one state for one key, outside the authority.',
    arguments: [],
    options: [
      { flags: '--state <file>', summary: 'File for the last checkpoint; with --listen a folder', required: true },
      { flags: '--listen <host:port>', summary: 'Serve the witness protocol at this address' },
      { flags: '--logs <file>', summary: 'Logs to witness, a line for each: log <verifier key>; with --listen' },
      { flags: '--init', summary: 'Create the state of a new witness; needed once with --key or --listen' },
      { flags: '--key <file>', summary: 'Private key file of the witness, to cosign' },
      { flags: '--name <name>', summary: 'Name of the witness in its signature; default: the key id of the file' },
      { flags: '--out <file>', summary: 'Write the cosigned checkpoint to this file' },
    ],
    examples: [
      {
        line: 'chancery evidence witness --state acme.log --key witness.key --name witness.example --out acme.cosigned',
        summary: 'Check, store and cosign the checkpoint; the first time with --init',
      },
      {
        line: 'chancery evidence witness --listen 0.0.0.0:8444 --state witness --logs logs.txt --key witness.key --name witness.example --init',
        summary: 'Witness the logs of other networks',
      },
    ],
    needs: 'nothing',
  },
  {
    path: ['evidence', 'witnesses'],
    summary: 'Show the witnesses of the evidence log',
    description:
      'Shows which checkpoint each witness cosigned, why it failed, and whether it has more or other entries than the authority. Can write a policy file for verifiers. Exit code 1 if a witness contradicts the log.',
    arguments: [],
    options: [
      { flags: '--policy <file>', summary: 'Write keys and quorum for verifiers to a new file (C2SP tlog-policy)' },
    ],
    examples: [
      { line: 'chancery evidence witnesses', summary: 'Show the state of each witness' },
      { line: 'chancery evidence witnesses --policy acme.policy', summary: 'Write the policy for verifiers' },
    ],
    needs: 'operator',
  },
  {
    path: ['evidence', 'receipt'],
    summary: 'Write a receipt of a decision',
    description:
      'Writes a proof that a decision is in the evidence log, for verifiers of other systems: a .tlog-proof with the cosigned checkpoint (C2SP tlog-proof), or a COSE receipt (RFC 9942). Verifies it before it is written.',
    arguments: [{ name: 'decision', summary: 'Id of the decision', required: true }],
    options: [
      { flags: '--out <file>', summary: 'The new file', required: true },
      {
        flags: '--form <word>',
        summary: 'Form of the receipt',
        default: 'tlog-proof',
        choices: ['tlog-proof', 'cose'],
      },
      { flags: '--line <file>', summary: 'Write the stored line too, with the decision and its context' },
    ],
    examples: [
      { line: 'chancery evidence receipt decision-5f0c --out d.tlog-proof', summary: 'Write a log proof' },
      {
        line: 'chancery evidence receipt decision-5f0c --form cose --out d.cose --line d.line',
        summary: 'Write a COSE receipt and the line that it covers',
      },
    ],
    needs: 'operator',
  },
]
