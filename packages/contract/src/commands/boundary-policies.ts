import type { Command } from './command.ts'

const POLICY_FILE = { name: 'file', summary: 'Policy file, JSON or YAML', required: true } as const
const POLICY_ID = { name: 'policy_id', summary: 'Id of the policy', required: true } as const
const CEDAR_FILES = [
  { flags: '--cedar <file>', summary: 'Cedar policy set for the gates of type cedar.v1 that name none' },
  { flags: '--schema <file>', summary: 'Cedar schema for these gates' },
] as const
const VERSION = { name: 'version', summary: 'Number of the version', required: true } as const

export const boundaryPolicyCommands: readonly Command[] = [
  {
    path: ['boundary-policy', 'new'],
    summary: 'Start a boundary policy',
    description:
      'Writes a commented policy and test cases. The policy states who may use a capability; the cases state the expected decision for example requests.',
    arguments: [{ name: 'name', summary: 'Id of the policy and prefix of the file names', required: true }],
    options: [{ flags: '--dir <folder>', summary: 'Folder to write to', default: '.' }],
    examples: [
      {
        line: 'chancery boundary-policy new spending',
        summary: 'Write spending.policy.yaml and spending.cases.yaml',
      },
    ],
    needs: 'nothing',
  },
  {
    path: ['boundary-policy', 'test'],
    summary: 'Test boundary policies',
    description:
      'Runs the cases of a folder (*.cases.json, *.cases.yaml) against its policies (*.policy.json, *.policy.yaml) on this machine. Cedar gates use the *.cedar and *.cedarschema files of the folder. Exit code 1 if a decision differs from the expected one.',
    arguments: [{ name: 'dir', summary: 'Folder with policies and cases', required: true }],
    options: [
      { flags: '--junit <file>', summary: 'Also write the results as JUnit XML' },
      { flags: '--require-coverage', summary: 'Fail if no case reaches a gate' },
    ],
    examples: [
      { line: 'chancery boundary-policy test policies', summary: 'Show differences and gates without a case' },
      { line: 'chancery boundary-policy test policies --junit results.xml --json', summary: 'Run in a pipeline' },
    ],
    needs: 'nothing',
  },
  {
    path: ['boundary-policy', 'validate'],
    summary: 'Check a boundary policy',
    description: 'Asks the authority for all problems of a policy. Nothing is signed or stored.',
    arguments: [POLICY_FILE],
    options: [...CEDAR_FILES],
    examples: [{ line: 'chancery boundary-policy validate spending.policy.yaml', summary: 'List every problem' }],
    needs: 'operator',
  },
  {
    path: ['boundary-policy', 'simulate'],
    summary: 'Simulate a boundary policy',
    description: 'Asks the authority how requests would be decided with the policy active, compared with now.',
    arguments: [POLICY_FILE],
    options: [
      { flags: '--contexts <file>', summary: 'JSON or YAML file with contexts, or a file with cases' },
      { flags: '--decisions', summary: 'Use the newest 1000 decisions of the evidence store' },
      ...CEDAR_FILES,
    ],
    examples: [
      {
        line: 'chancery boundary-policy simulate spending.policy.yaml --contexts spending.cases.yaml',
        summary: 'Count newly allowed and newly denied requests',
      },
    ],
    needs: 'operator',
  },
  {
    path: ['boundary-policy', 'publish'],
    summary: 'Publish a boundary policy',
    description: 'Signs and stores a policy as its next version. The version has no effect until you activate it.',
    arguments: [POLICY_FILE],
    options: [{ flags: '--out <file>', summary: 'Write the signed policy to a new file' }, ...CEDAR_FILES],
    examples: [
      {
        line: 'chancery boundary-policy publish spending.policy.yaml',
        summary: 'Publish the policy and print its version',
      },
      {
        line: 'chancery boundary-policy publish printing.policy.yaml --cedar printing.cedar --schema printing.cedarschema',
        summary: 'Publish a policy with a Cedar gate',
      },
    ],
    needs: 'operator',
  },
  {
    path: ['boundary-policy', 'list'],
    summary: 'List boundary policies',
    description: 'Lists every stored version with its state, and whether the active set can decide.',
    arguments: [],
    options: [],
    examples: [{ line: 'chancery boundary-policy list', summary: 'List by policy, newest version first' }],
    needs: 'operator',
  },
  {
    path: ['boundary-policy', 'history'],
    summary: 'Show the versions of a boundary policy',
    description: 'Prints all versions of a policy with their signed content, newest first.',
    arguments: [POLICY_ID],
    options: [],
    examples: [
      {
        line: 'chancery boundary-policy history spending --json',
        summary: 'Show all versions with their signed content',
      },
    ],
    needs: 'operator',
  },
  {
    path: ['boundary-policy', 'activate'],
    summary: 'Activate a boundary policy',
    description:
      'Makes a stored version the active version of its policy. To roll back, activate an earlier version. With contexts it first shows which decisions would change.',
    arguments: [POLICY_ID, VERSION],
    options: [
      { flags: '--contexts <file>', summary: 'JSON or YAML file with contexts or cases to simulate first' },
      { flags: '--decisions', summary: 'Simulate with the newest 1000 decisions of the evidence store' },
      { flags: '--dry-run', summary: 'Only show the changes' },
      { flags: '--yes', summary: 'Do not ask for confirmation' },
    ],
    examples: [
      {
        line: 'chancery boundary-policy activate spending 2 --contexts spending.cases.yaml',
        summary: 'Simulate, ask, then activate',
      },
    ],
    needs: 'operator',
  },
  {
    path: ['boundary-policy', 'deactivate'],
    summary: 'Deactivate a boundary policy',
    description: 'Deactivates the active version. The other policies then decide the requests that it denied.',
    arguments: [POLICY_ID, VERSION],
    options: [{ flags: '--yes', summary: 'Do not ask for confirmation' }],
    examples: [{ line: 'chancery boundary-policy deactivate spending 2', summary: 'Ask, then deactivate' }],
    needs: 'operator',
  },
  {
    path: ['boundary-policy', 'replay'],
    summary: 'Compute a decision again',
    description:
      'Computes the gates of a stored decision again and compares them byte by byte. Gates that asked another system are checked against the recorded answer. Exit code 1 if a gate differs, 2 if one could not be computed here.',
    arguments: [{ name: 'decision', summary: 'Id of the decision, or an evidence pack', required: true }],
    options: [
      { flags: '--genesis <file>', summary: 'Genesis block that you trust; a file needs it' },
      { flags: '--key-history <file>', summary: 'Former keys of the authority, signed by the same root' },
    ],
    examples: [
      {
        line: 'chancery boundary-policy replay 0b6c1c52-5a0e-4b53-9a53-0d6c0f5f0031',
        summary: 'Read the decision from the authority',
      },
      {
        line: 'chancery boundary-policy replay pack.json --genesis genesis.json',
        summary: 'Compute a pack again offline',
      },
    ],
    needs: 'nothing',
  },
  {
    path: ['boundary-policy', 'verify'],
    summary: 'Verify a boundary policy',
    description: 'Verifies the signature of a policy. Exit code 1 if it is not valid.',
    arguments: [{ name: 'file', summary: 'JSON file with the signed policy', required: true }],
    options: [
      {
        flags: '--issuer-key <key>',
        summary: 'Key of the issuer: a .pub file or base64; default: the key of the authority',
        repeatable: true,
      },
    ],
    examples: [{ line: 'chancery boundary-policy verify signed.json', summary: 'Verify with the key of this network' }],
    needs: 'nothing',
  },
]
