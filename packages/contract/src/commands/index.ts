import { admissionCommands } from './admission.ts'
import { agentCommands } from './agents.ts'
import { budgetCommands } from './budgets.ts'
import { agreementCommands } from './agreements.ts'
import { approvalCommands } from './approvals.ts'
import { attestationCommands } from './attestations.ts'
import { auditCommands } from './audit.ts'
import { authorityCommands } from './authority.ts'
import { authzenCommands } from './authzen.ts'
import { boundaryCommands } from './boundary.ts'
import { boundaryPolicyCommands } from './boundary-policies.ts'
import { type Command, doctorCommands } from './command.ts'
import { consensusCommands } from './consensus.ts'
import { dataUsageCommands, feedCommands } from './data-usage.ts'
import { disclosureCommands } from './disclosure.ts'
import { NODE_HOME_OPTION, enrollmentCommands } from './enrollment.ts'
import { evidenceCommands } from './evidence.ts'
import { executorKeyCommands } from './executor-keys.ts'
import { federationCommands } from './federation.ts'
import { gatewayCommands } from './gateway.ts'
import { genesisCommands } from './genesis.ts'
import { historyCommands } from './history.ts'
import { initCommands, keygenCommands } from './keygen.ts'
import { mcpCommands } from './mcp.ts'
import { operatorCommands } from './operator.ts'
import { partnerCommands } from './partners.ts'
import { recognitionPolicyCommands } from './recognition-policy.ts'
import { treatyCommands } from './recognition-treaties.ts'
import { trustEvidenceCommands } from './trust-evidence.ts'
import { verifyCommands } from './verify.ts'

const releaseCommands: readonly Command[] = [
  {
    path: ['release', 'verify'],
    summary: 'Verify a downloaded release, offline',
    description:
      'Verifies the signature on the list of files, the SHA-256 of every file, that no file is missing or added, the provenance, and that both lists of contents name the packages of the lock file. Changes nothing. Exit code 1 if a check failed, 2 without --key, or with a key file of the folder: then the signer is not proven.',
    arguments: [{ name: 'dir', summary: 'Folder with all files of one release', required: true }],
    options: [
      {
        flags: '--key <file>',
        summary: 'Release key of the project, from another place than the folder: a .pub file or base64',
      },
    ],
    examples: [
      { line: 'chancery release verify ./release --key chancery-release.pub', summary: 'Verify a release' },
      {
        line: 'chancery release verify ./release --key chancery-release.pub --json',
        summary: 'Print every check in JSON',
      },
    ],
    needs: 'nothing',
  },
]

const witCommands: readonly Command[] = [
  {
    path: ['wit'],
    summary: 'Print a WIMSE token and the proof of one request',
    description:
      'Gets a workload identity token for the certificate of the node, and prints the header fields that prove one request with it. The fields are valid for 60 seconds.',
    arguments: [],
    options: [
      NODE_HOME_OPTION,
      { flags: '--audience <name>', summary: 'Name of the service, by custom its origin', required: true },
      { flags: '--request-url <url>', summary: 'Address of the request; default: the audience' },
      { flags: '--method <name>', summary: 'Method of the request', default: 'GET' },
      { flags: '--body <file>', summary: 'Body of the request, which is signed' },
      {
        flags: '--header <name=value>',
        summary: 'Another field of the request; content-type and authorization are signed',
        repeatable: true,
      },
    ],
    examples: [
      {
        line: 'chancery wit --home ./node --audience https://print.example --request-url https://print.example/jobs?page=1 > headers.txt',
        summary: 'Then: curl --header @headers.txt https://print.example/jobs?page=1',
      },
    ],
    needs: 'node',
  },
]

const completionCommands: readonly Command[] = [
  {
    path: ['completion'],
    summary: 'Print shell completion',
    description: 'Prints a completion script for a shell. It completes commands, flags and choices.',
    arguments: [{ name: 'shell', summary: 'Name of the shell', required: true, choices: ['bash', 'zsh', 'fish'] }],
    options: [],
    examples: [{ line: 'chancery completion bash', summary: 'Print the script for bash' }],
    needs: 'nothing',
  },
]

const networkPolicyCommands: readonly Command[] = [
  {
    path: ['network-policy', 'show'],
    summary: 'Show the network policy',
    description: 'Prints the active policy manifest, which is public.',
    arguments: [],
    options: [{ flags: '--history', summary: 'List all stored versions; needs an operator key' }],
    examples: [
      { line: 'chancery network-policy show', summary: 'Show the active policy' },
      { line: 'chancery network-policy show --history --json', summary: 'List all versions in JSON' },
    ],
    needs: 'nothing',
  },
  {
    path: ['network-policy', 'publish'],
    summary: 'Publish a network policy',
    description: 'Sends a policy. The authority signs it and makes it active.',
    arguments: [{ name: 'file', summary: 'JSON file with the fields of the policy', required: true }],
    options: [],
    examples: [{ line: 'chancery network-policy publish policy.json', summary: 'Publish the policy and print it' }],
    needs: 'operator',
  },
  {
    path: ['network-policy', 'rollback'],
    summary: 'Activate an earlier network policy',
    description: 'Makes a stored policy version active again.',
    arguments: [{ name: 'policy_id', summary: 'Id of the version, as listed by show --history', required: true }],
    options: [{ flags: '--yes', summary: 'Do not ask for confirmation' }],
    examples: [{ line: 'chancery network-policy rollback policy-EXAMPLE-NET-v0.1', summary: 'Ask, then activate' }],
    needs: 'operator',
  },
]

const demoCommands: readonly Command[] = [
  {
    path: ['demo'],
    summary: 'Run a demo network',
    description:
      'Creates a network with the activity of the last 12 hours, starts its authority and keeps it in use: nodes send heartbeats, renew certificates and ask for decisions. A second start continues with the folder. The keys are public and the same every time; do not expose the network.',
    arguments: [],
    options: [
      { flags: '--home <dir>', summary: 'Folder of the demo: empty, or of an earlier start', default: './demo' },
      { flags: '--port <n>', summary: 'Port of the authority, on this machine only', default: '8443' },
      { flags: '--nodes <n>', summary: 'Number of nodes of a new demo, 1 to 2000', default: '200' },
      {
        flags: '--two',
        summary: 'Two companies instead: a bank with a service, and a freight company with an agent that calls it',
      },
      {
        flags: '--gateway',
        summary: 'Also start a gateway and a protected service on the next two ports, and print two calls to try',
      },
      { flags: '--reset', summary: 'Delete the demo in the folder first, and make a new one' },
      { flags: '--static', summary: 'Create the records only: no past activity, and no activity after the start' },
    ],
    examples: [
      { line: 'chancery demo --home ./demo', summary: 'Start it, then open http://127.0.0.1:8443/ in a browser' },
      {
        line: 'chancery demo --gateway',
        summary: 'Start it with a gateway, and print a curl that is refused and one that is allowed',
      },
      { line: 'chancery demo --reset', summary: 'Delete the demo in ./demo and make a new one' },
      {
        line: 'chancery demo --two --home ./two',
        summary: 'Start two companies and a service on three ports, and print what to try next',
      },
    ],
    needs: 'nothing',
  },
]

const profileCommands: readonly Command[] = [
  {
    path: ['use'],
    summary: 'Choose the network of later commands',
    description:
      'Stores the folder of an authority or node as the default, so that later commands need no --config. Without a folder it prints the configuration in use. --config, CHANCERY_CONFIG and ./chancery.toml take precedence.',
    arguments: [{ name: 'dir', summary: 'Folder with chancery.toml, written by init or join', required: false }],
    options: [{ flags: '--none', summary: 'Remove the default' }],
    examples: [
      { line: 'chancery use ./na', summary: 'Use this network from now on' },
      { line: 'chancery use', summary: 'Show the configuration in use' },
    ],
    needs: 'nothing',
  },
]

const versionCommands: readonly Command[] = [
  {
    path: ['version'],
    summary: 'Print the version',
    description: 'Prints the versions of the program and of Node.js.',
    arguments: [],
    options: [],
    examples: [{ line: 'chancery version --json', summary: 'Print the versions for a program' }],
    needs: 'nothing',
  },
]

/** Every command, in the order help lists them: first steps first. */
export const COMMANDS: readonly Command[] = [
  ...initCommands,
  ...demoCommands,
  ...profileCommands,
  ...keygenCommands,
  ...genesisCommands,
  ...authorityCommands,
  ...doctorCommands,
  ...auditCommands,
  ...enrollmentCommands,
  ...admissionCommands,
  ...agentCommands,
  ...witCommands,
  ...operatorCommands,
  ...networkPolicyCommands,
  ...recognitionPolicyCommands,
  ...attestationCommands,
  ...treatyCommands,
  ...feedCommands,
  ...federationCommands,
  ...partnerCommands,
  ...agreementCommands,
  ...boundaryCommands,
  ...approvalCommands,
  ...mcpCommands,
  ...boundaryPolicyCommands,
  ...budgetCommands,
  ...trustEvidenceCommands,
  ...disclosureCommands,
  ...consensusCommands,
  ...dataUsageCommands,
  ...verifyCommands,
  ...historyCommands,
  ...gatewayCommands,
  ...authzenCommands,
  ...evidenceCommands,
  ...executorKeyCommands,
  ...releaseCommands,
  ...completionCommands,
  ...versionCommands,
]
