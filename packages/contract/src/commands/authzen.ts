import type { Command, CommandOption } from './command.ts'

const POINT_OPTIONS: readonly CommandOption[] = [
  {
    flags: '--pdp <url>',
    summary: 'Identifier of the decision point: https, or http on this machine',
    required: true,
  },
  { flags: '--token-file <file>', summary: 'File with the bearer credential, such as caller.token of a gateway' },
]

export const authzenCommands: readonly Command[] = [
  {
    path: ['authzen', 'ask'],
    summary: 'Ask an AuthZEN decision point one question',
    description:
      'Reads the metadata of a decision point of any product, asks, and prints the answer: exit code 1 if the request is denied, 2 if there is no decision. The signed decision of a gateway is verified with --authority-key or the configured genesis block. An answer that was not verified is no decision, unless --unsigned is given.',
    arguments: [],
    options: [
      ...POINT_OPTIONS,
      { flags: '--subject <type:id>', summary: 'Who wants to act', required: true },
      { flags: '--action <name>', summary: 'What it wants to do', required: true },
      { flags: '--resource <type:id>', summary: 'What it acts on', required: true },
      {
        flags: '--property <place.name=value>',
        summary: 'Property of the subject, action or resource, such as resource.copies=2',
        repeatable: true,
      },
      { flags: '--context <file>', summary: 'JSON or YAML file with the context of the question' },
      {
        flags: '--authority-key <key>',
        summary: 'Key that must have signed the decision: a .pub file or base64',
        repeatable: true,
      },
      { flags: '--unsigned', summary: 'Take the answer of a product that signs nothing; nothing is verified' },
    ],
    examples: [
      {
        line: 'chancery authzen ask --pdp https://gw.example --token-file caller.token --subject user:alice --action read --resource record:record-1',
        summary: 'Ask a gateway',
      },
      {
        line: 'chancery authzen ask --pdp http://127.0.0.1:3592 --subject user:alice --action read --resource record:record-1 --property resource.status=active --unsigned',
        summary: 'Ask another product on this machine',
      },
    ],
    needs: 'nothing',
  },
  {
    path: ['authzen', 'certify'],
    summary: 'Run the AuthZEN certification scenario',
    description:
      'Runs the scenario that the OpenID Foundation publishes for AuthZEN 1.0: levels Basic, Batch and Discovery, not Search. The decision point must have the users alice and bob and the records record-1 and record-2 of the scenario. Exit code 1 if a level fails.',
    arguments: [],
    options: POINT_OPTIONS,
    examples: [
      {
        line: 'chancery authzen certify --pdp https://gw.example --token-file caller.token',
        summary: 'Print each level and each check that failed',
      },
    ],
    needs: 'nothing',
  },
]
