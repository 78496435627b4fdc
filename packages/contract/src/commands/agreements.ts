import type { Command, CommandOption } from './command.ts'

const TERMS_OPTIONS: readonly CommandOption[] = [
  {
    flags: '--capability <name>',
    summary: 'A capability, exactly as it will be asked for.',
    repeatable: true,
    required: true,
  },
  { flags: '--scope <file>', summary: 'JSON file with the scope; labels that both parties sign.' },
  { flags: '--valid-from <time>', summary: 'When the agreement begins, ISO 8601; now when left out.' },
  { flags: '--valid-hours <n>', summary: 'How long it holds, 1 to 87600.', default: '720' },
]
const OUT: CommandOption = { flags: '--out <file>', summary: 'Write the signed record to a new file.' }

export const agreementCommands: readonly Command[] = [
  {
    path: ['agreement', 'offer'],
    summary: 'Offer an agreement',
    description:
      'Signs an offer of capabilities to another sovereign, with what the recognition graph says about it now. ' +
      'A sovereign without a treaty gets an offer nobody can accept.',
    arguments: [{ name: 'responder', summary: 'Sovereign the offer is made to.', required: true }],
    options: [
      ...TERMS_OPTIONS,
      { flags: '--open-hours <n>', summary: 'How long the offer can be accepted, 1 to 8760.', default: '24' },
      OUT,
    ],
    examples: [
      {
        line: 'chancery agreement offer PARTNER-NET --capability ledger.read --out offer.json',
        summary: 'For thirty days, open for one.',
      },
    ],
    needs: 'operator',
  },
  {
    path: ['agreement', 'counter'],
    summary: 'Answer an offer with other terms',
    description: 'Signs other terms in answer to an offer. They may ask for less than was offered, never for more.',
    arguments: [{ name: 'offer', summary: 'JSON file with the offer.', required: true }],
    options: [...TERMS_OPTIONS, OUT],
    examples: [
      {
        line: 'chancery agreement counter offer.json --capability ledger.read --out counter.json',
        summary: 'One of the capabilities offered.',
      },
    ],
    needs: 'operator',
  },
  {
    path: ['agreement', 'accept'],
    summary: 'Accept an offer or a counter',
    description: 'Signs the agreement that follows from an offer, or from a counter to an offer of this authority.',
    arguments: [{ name: 'offer', summary: 'JSON file with the offer.', required: true }],
    options: [{ flags: '--counter <file>', summary: 'JSON file with the counter to it.' }, OUT],
    examples: [
      { line: 'chancery agreement accept offer.json --out agreement.json', summary: 'As it was offered.' },
      {
        line: 'chancery agreement accept offer.json --counter counter.json --out agreement.json',
        summary: 'On the terms of the counter.',
      },
    ],
    needs: 'operator',
  },
  {
    path: ['agreement', 'verify'],
    summary: 'Verify an agreement',
    description:
      'Says whether both parties signed an agreement. Without keys it is judged as one this authority made itself, ' +
      'over the recognition graph as it stands. Exits with a failure when it does not hold.',
    arguments: [{ name: 'file', summary: 'JSON file with the agreement.', required: true }],
    options: [
      { flags: '--offerer-key <key>', summary: 'Key of the offerer: a .pub file or base64.', repeatable: true },
      { flags: '--responder-key <key>', summary: 'Key of the responder: a .pub file or base64.', repeatable: true },
    ],
    examples: [
      {
        line: 'chancery agreement verify agreement.json --offerer-key our.pub --responder-key partner.pub',
        summary: 'Under the keys of both parties.',
      },
    ],
    needs: 'nothing',
  },
]
