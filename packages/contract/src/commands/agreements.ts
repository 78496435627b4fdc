import type { Command, CommandOption } from './command.ts'

const TERMS_OPTIONS: readonly CommandOption[] = [
  {
    flags: '--capability <name>',
    summary: 'Capability, exactly as requests will name it',
    repeatable: true,
    required: true,
  },
  { flags: '--scope <file>', summary: 'JSON file with the scope: labels that both parties sign' },
  { flags: '--valid-from <time>', summary: 'Start of the agreement (ISO 8601); default: now' },
  { flags: '--valid-hours <n>', summary: 'Validity in hours, 1 to 87600', default: '720' },
]
const OUT: CommandOption = { flags: '--out <file>', summary: 'Write the signed record to a new file' }

export const agreementCommands: readonly Command[] = [
  {
    path: ['agreement', 'offer'],
    summary: 'Offer an agreement',
    description:
      'Signs an offer of capabilities to a partner network, with its current state in the recognition graph. An offer to a network without a treaty cannot be accepted.',
    arguments: [{ name: 'responder', summary: 'Network that receives the offer', required: true }],
    options: [
      ...TERMS_OPTIONS,
      { flags: '--open-hours <n>', summary: 'Hours during which the offer can be accepted, 1 to 8760', default: '24' },
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
  {
    path: ['agreement', 'counter'],
    summary: 'Respond to an offer with other terms',
    description: 'Signs other terms for an offer. They may ask for less than the offer, never for more.',
    arguments: [{ name: 'offer', summary: 'JSON file with the offer', required: true }],
    options: [...TERMS_OPTIONS, OUT],
    examples: [
      {
        line: 'chancery agreement counter offer.json --capability ledger.read --out counter.json',
        summary: 'Accept one of the offered capabilities',
      },
    ],
    needs: 'operator',
  },
  {
    path: ['agreement', 'accept'],
    summary: 'Accept an offer or a counter',
    description: 'Signs the agreement for an offer, or for a counter to an offer of this authority.',
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
  {
    path: ['agreement', 'cosign'],
    summary: 'Sign an accepted agreement as the offerer',
    description:
      'Adds the signature of this authority to an agreement that the responder accepted. It is possible until one day after the end of the offer. An agreement counts when both parties have signed it.',
    arguments: [{ name: 'agreement', summary: 'JSON file with the accepted agreement', required: true }],
    options: [{ flags: '--offer <file>', summary: 'JSON file with the offer of this authority', required: true }, OUT],
    examples: [
      {
        line: 'chancery agreement cosign half.json --offer offer.json --out agreement.json',
        summary: 'Complete the agreement',
      },
    ],
    needs: 'operator',
  },
  {
    path: ['agreement', 'verify'],
    summary: 'Verify an agreement',
    description:
      'Reports whether both parties signed an agreement. Without keys, the authority verifies it with its current recognition graph. Exit code 1 if the agreement is not valid.',
    arguments: [{ name: 'file', summary: 'JSON file with the agreement', required: true }],
    options: [
      { flags: '--offerer-key <key>', summary: 'Key of the offerer: a .pub file or base64', repeatable: true },
      { flags: '--responder-key <key>', summary: 'Key of the responder: a .pub file or base64', repeatable: true },
    ],
    examples: [
      {
        line: 'chancery agreement verify agreement.json --offerer-key our.pub --responder-key partner.pub',
        summary: 'Verify with the keys of both parties',
      },
    ],
    needs: 'nothing',
  },
]
