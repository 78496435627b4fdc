import type { Command } from './command.ts'

const POLICY_FILE = { name: 'file', summary: 'Policy file, JSON or YAML.', required: true } as const
const POLICY_ID = { name: 'policy_id', summary: 'Id of the policy.', required: true } as const
const VERSION = { name: 'version', summary: 'Number of the version.', required: true } as const

export const boundaryPolicyCommands: readonly Command[] = [
  {
    path: ['boundary-policy', 'new'],
    summary: 'Start a boundary policy',
    description:
      'Writes a commented policy and cases to test it by: the rules for who may use a capability, and what they ' +
      'should say about example requests.',
    arguments: [{ name: 'name', summary: 'Id of the policy; the files are named after it.', required: true }],
    options: [{ flags: '--dir <folder>', summary: 'Folder to write to.', default: '.' }],
    examples: [
      {
        line: 'chancery boundary-policy new spending',
        summary: 'Writes spending.policy.yaml and spending.cases.yaml.',
      },
    ],
    needs: 'nothing',
  },
  {
    path: ['boundary-policy', 'test'],
    summary: 'Test boundary policies',
    description:
      'Runs the cases of a folder against its policies on this machine: files *.policy.json or *.policy.yaml, and ' +
      '*.cases.json or *.cases.yaml. Exits with a failure when a case is decided otherwise than expected.',
    arguments: [{ name: 'dir', summary: 'Folder with policies and cases.', required: true }],
    options: [
      { flags: '--junit <file>', summary: 'Also write the results as JUnit XML.' },
      { flags: '--require-coverage', summary: 'Fail when a gate is reached by no case.' },
    ],
    examples: [
      { line: 'chancery boundary-policy test policies', summary: 'Shows what differs, and gates no case reaches.' },
      { line: 'chancery boundary-policy test policies --junit results.xml --json', summary: 'For a pipeline.' },
    ],
    needs: 'nothing',
  },
  {
    path: ['boundary-policy', 'validate'],
    summary: 'Check a boundary policy',
    description: 'Asks the authority what is wrong with a policy; nothing is signed or stored.',
    arguments: [POLICY_FILE],
    options: [],
    examples: [{ line: 'chancery boundary-policy validate spending.policy.yaml', summary: 'Lists every issue.' }],
    needs: 'operator',
  },
  {
    path: ['boundary-policy', 'simulate'],
    summary: 'Simulate a boundary policy',
    description: 'Asks the authority how requests would be decided with a policy in force, against how they are now.',
    arguments: [POLICY_FILE],
    options: [
      { flags: '--contexts <file>', summary: 'JSON or YAML file with contexts, or a file with cases.' },
      { flags: '--decisions', summary: 'Use the first 1000 decisions of the evidence store instead.' },
    ],
    examples: [
      {
        line: 'chancery boundary-policy simulate spending.policy.yaml --contexts spending.cases.yaml',
        summary: 'Counts what would be newly allowed and newly denied.',
      },
    ],
    needs: 'operator',
  },
  {
    path: ['boundary-policy', 'publish'],
    summary: 'Publish a boundary policy',
    description: 'Has the authority sign a policy as its next version and store it. Nothing binds before activate.',
    arguments: [POLICY_FILE],
    options: [{ flags: '--out <file>', summary: 'Write the signed policy to a new file.' }],
    examples: [{ line: 'chancery boundary-policy publish spending.policy.yaml', summary: 'Prints the version.' }],
    needs: 'operator',
  },
  {
    path: ['boundary-policy', 'list'],
    summary: 'List boundary policies',
    description: 'Lists every stored version, whether it is in force, and whether the active set may decide.',
    arguments: [],
    options: [],
    examples: [{ line: 'chancery boundary-policy list', summary: 'By policy, newest version first.' }],
    needs: 'operator',
  },
  {
    path: ['boundary-policy', 'history'],
    summary: 'Show the versions of a boundary policy',
    description: 'Prints all versions of one policy with their signed bodies, newest first.',
    arguments: [POLICY_ID],
    options: [],
    examples: [{ line: 'chancery boundary-policy history spending --json', summary: 'With the signed bodies.' }],
    needs: 'operator',
  },
  {
    path: ['boundary-policy', 'activate'],
    summary: 'Put a boundary policy in force',
    description:
      'Makes one stored version the active one of its policy; an earlier version is the rollback. With contexts it ' +
      'first shows what would be decided differently.',
    arguments: [POLICY_ID, VERSION],
    options: [
      { flags: '--contexts <file>', summary: 'JSON or YAML file with contexts or cases to simulate first.' },
      { flags: '--decisions', summary: 'Simulate with the first 1000 decisions of the evidence store.' },
      { flags: '--dry-run', summary: 'Only show what would change.' },
      { flags: '--yes', summary: 'Do not ask before acting.' },
    ],
    examples: [
      {
        line: 'chancery boundary-policy activate spending 2 --contexts spending.cases.yaml',
        summary: 'Simulates, asks, then switches.',
      },
    ],
    needs: 'operator',
  },
  {
    path: ['boundary-policy', 'deactivate'],
    summary: 'Take a boundary policy out of force',
    description: 'Ends the force of the active version. What it denied is then decided by the other policies alone.',
    arguments: [POLICY_ID, VERSION],
    options: [{ flags: '--yes', summary: 'Do not ask before acting.' }],
    examples: [{ line: 'chancery boundary-policy deactivate spending 2', summary: 'Asks, then acts.' }],
    needs: 'operator',
  },
  {
    path: ['boundary-policy', 'verify'],
    summary: 'Verify a boundary policy',
    description: 'Says whether a signed policy is what its issuer signed. Exits with a failure when it is not.',
    arguments: [{ name: 'file', summary: 'JSON file with the signed policy.', required: true }],
    options: [
      {
        flags: '--issuer-key <key>',
        summary: 'Key of the issuer: a .pub file or base64; else that of the authority asked.',
        repeatable: true,
      },
    ],
    examples: [{ line: 'chancery boundary-policy verify signed.json', summary: 'By the key of this network.' }],
    needs: 'nothing',
  },
]
