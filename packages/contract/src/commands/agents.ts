import { type Command, LIST_OPTIONS } from './command.ts'
import { NODE_HOME_OPTION } from './enrollment.ts'

export const agentCommands: readonly Command[] = [
  {
    path: ['agent', 'register'],
    summary: 'Register an agent',
    description:
      'Registers the agent of a node, refreshes the registration until the process is stopped, and then removes it. The fields come from flags, from an A2A agent card, or from both. A flag overrides the card.',
    arguments: [],
    options: [
      NODE_HOME_OPTION,
      { flags: '--agent-id <id>', summary: 'Name of the agent' },
      { flags: '--capability <tag>', summary: 'Capability of the agent; searches match it exactly', repeatable: true },
      { flags: '--endpoint <url>', summary: 'Endpoint of the agent, for example wss://host:7448' },
      { flags: '--metadata <name=value>', summary: 'Text shown with the registration', repeatable: true },
      { flags: '--card <file>', summary: 'A2A agent card (agent-card.json) with the fields' },
      { flags: '--card-url <url>', summary: 'URL of the published card; default: the well-known path of its host' },
      {
        flags: '--lifetime-seconds <n>',
        summary: 'Lifetime of a registration; refreshed after half of it',
        default: '600',
      },
      { flags: '--once', summary: 'Register once and exit; the registration then expires' },
    ],
    examples: [
      {
        line: 'chancery agent register --home ./node --agent-id llm-1 --capability llm:chat --endpoint wss://agent.example.org:7448',
        summary: 'Run until stopped and refresh the registration',
      },
      {
        line: 'chancery agent register --home ./node --card agent-card.json --once',
        summary: 'Register once, from a card',
      },
    ],
    needs: 'node',
  },
  {
    path: ['agent', 'find'],
    summary: 'Find agents by capability',
    description: 'Lists the agents with exactly this capability, newest first. Checks every signature.',
    arguments: [{ name: 'capability', summary: 'Capability, compared exactly', required: true }],
    options: [
      NODE_HOME_OPTION,
      ...LIST_OPTIONS,
      { flags: '--card', summary: 'Print A2A agent cards; agents with an invalid signature are omitted' },
    ],
    examples: [
      { line: 'chancery agent find llm:chat', summary: 'The 50 newest' },
      { line: 'chancery agent find llm:chat --all --card --json', summary: 'All, as cards, for a program' },
    ],
    needs: 'nothing',
  },
  {
    path: ['agent', 'list'],
    summary: 'List registered agents',
    description:
      'Lists registered agents, newest first, or those that match the filters. Checks every signature. Agents registered with an earlier release have no host in searches until they register again.',
    arguments: [],
    options: [
      { flags: '--search <text>', summary: 'Only agents whose id, host or capability begins with this text' },
      { flags: '--capability <tag>', summary: 'Only agents with exactly this capability' },
      { flags: '--host <name>', summary: 'Only agents whose endpoint has exactly this host' },
      { flags: '--node-key <key>', summary: 'Only the agent of this node key: a .pub file or base64' },
      {
        flags: '--state <state>',
        summary: 'Only agents of nodes in this state',
        choices: ['active', 'ends_soon', 'silent', 'superseded', 'revoked', 'expired'],
      },
      { flags: '--expires-before <time>', summary: 'Only registrations that end before this time' },
      ...LIST_OPTIONS,
    ],
    examples: [
      { line: 'chancery agent list', summary: 'The 50 newest agents' },
      { line: 'chancery agent list --search pay --state silent', summary: 'Agents of silent nodes, by prefix' },
      { line: 'chancery agent list --all --quiet', summary: 'The ids of all agents' },
    ],
    needs: 'operator',
  },
  {
    path: ['agent', 'capabilities'],
    summary: 'List capabilities of agents',
    description: 'Lists capabilities with their number of agents, the most common first.',
    arguments: [],
    options: [
      { flags: '--search <text>', summary: 'Only capabilities that begin with this text, by name' },
      ...LIST_OPTIONS,
    ],
    examples: [
      { line: 'chancery agent capabilities', summary: 'The 50 most common capabilities' },
      { line: 'chancery agent capabilities --search pay', summary: 'Capabilities that begin with pay' },
    ],
    needs: 'operator',
  },
  {
    path: ['agent', 'show'],
    summary: 'Show one agent',
    description: 'Prints the registration of one node key and checks its signature.',
    arguments: [{ name: 'key', summary: 'Public key of the node: a .pub file or base64', required: true }],
    options: [NODE_HOME_OPTION],
    examples: [{ line: 'chancery agent show ./node/node.pub', summary: 'Show the registration of this node' }],
    needs: 'nothing',
  },
  {
    path: ['agent', 'remove'],
    summary: 'Remove an agent',
    description: 'Removes the agent of a node from the registry.',
    arguments: [],
    options: [NODE_HOME_OPTION],
    examples: [{ line: 'chancery agent remove --home ./node', summary: 'Remove the agent before the node stops' }],
    needs: 'node',
  },
  {
    path: ['agent', 'card', 'sign'],
    summary: 'Sign an A2A agent card with the node key',
    description:
      'Prints the card of a file with the certificate of the node and its signature. Refuses a card whose signed bytes depend on the writer, and names what to change. Makes no call.',
    arguments: [{ name: 'file', summary: 'A2A 1.0 agent card (agent-card.json)', required: true }],
    options: [
      NODE_HOME_OPTION,
      { flags: '--crl-url <url>', summary: 'Address of the revocation list for readers; default: <authority>/crl' },
    ],
    examples: [
      {
        line: 'chancery agent card sign agent-card.json --home ./node > signed.json',
        summary: 'Sign a card before it is published',
      },
    ],
    needs: 'node',
  },
  {
    path: ['agent', 'card', 'verify'],
    summary: 'Verify a signed A2A agent card',
    description:
      'Verifies the signature under the certificate in the card, and the certificate by the genesis block and a current revocation list; for a card of another network also by a treaty of the own authority. Exit code 0 only if all of it holds. Every member can sign a card with any name and address: give --node-key or --role when you mean one agent.',
    arguments: [{ name: 'card', summary: 'Origin of the agent, address of the card, or a file', required: true }],
    options: [
      NODE_HOME_OPTION,
      { flags: '--genesis <file>', summary: 'Genesis block of the own network; default: the configured one' },
      { flags: '--crl <file>', summary: 'Revocation list of the network of the card; default: from its authority' },
      { flags: '--partner-url <url>', summary: 'Authority of the partner network that the card is of' },
      { flags: '--node-key <key>', summary: 'Only the card of this node key: a .pub file or base64' },
      { flags: '--role <role>', summary: 'Only a card whose certificate has this role', repeatable: true },
      { flags: '--allow-http', summary: 'Allow http to other machines inside your own networks' },
    ],
    examples: [
      {
        line: 'chancery agent card verify https://agent.example.org --genesis genesis.json --url https://na.example.org',
        summary: 'A card of the own network',
      },
      {
        line: 'chancery agent card verify signed.json --home ./node --partner-url https://na.partner.example',
        summary: 'A card of a partner, from a file',
      },
      {
        line: 'chancery agent card verify https://agent.example.org --home ./node --node-key agent.pub --role role:client',
        summary: 'Only the card of one node, with a role',
      },
    ],
    needs: 'nothing',
  },
]
