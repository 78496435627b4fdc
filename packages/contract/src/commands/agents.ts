import type { Command } from './command.ts'
import { NODE_HOME_OPTION } from './enrollment.ts'

export const agentCommands: readonly Command[] = [
  {
    path: ['agent', 'announce'],
    summary: 'Announce an agent',
    description:
      'Registers the agent of a node and keeps it registered until it is told to stop; then it withdraws it. The ' +
      'facts come from flags, from an A2A agent card, or from both: a flag wins over the card.',
    arguments: [],
    options: [
      NODE_HOME_OPTION,
      { flags: '--agent-id <id>', summary: 'Name of the agent.' },
      { flags: '--capability <tag>', summary: 'What it can do; found by exactly this word.', repeatable: true },
      { flags: '--endpoint <url>', summary: 'Where it answers, for example wss://host:7448.' },
      { flags: '--metadata <name=value>', summary: 'A text for readers of the registration.', repeatable: true },
      { flags: '--card <file>', summary: 'A2A agent card (agent-card.json) to take the facts from.' },
      { flags: '--card-url <url>', summary: 'Where the card is published; else the well-known place of its address.' },
      { flags: '--lifetime-seconds <n>', summary: 'How long one announcement holds; renewed at half.', default: '600' },
      { flags: '--once', summary: 'Announce once and end; the registration then runs out by itself.' },
    ],
    examples: [
      {
        line: 'chancery agent announce --home ./node --agent-id llm-1 --capability llm:chat --endpoint wss://agent.example.org:7448',
        summary: 'Stays and keeps it registered.',
      },
      { line: 'chancery agent announce --home ./node --card agent-card.json --once', summary: 'From a card, once.' },
    ],
    needs: 'node',
  },
  {
    path: ['agent', 'find'],
    summary: 'Find agents by capability',
    description: 'Lists the agents that have exactly this capability, newest first, and checks each signature.',
    arguments: [{ name: 'capability', summary: 'The word, compared exactly.', required: true }],
    options: [
      NODE_HOME_OPTION,
      { flags: '--limit <n>', summary: 'At most so many, 1 to 1000.', default: '50' },
      { flags: '--all', summary: 'All of them, page after page.' },
      { flags: '--card', summary: 'Print them as A2A agent cards; those whose signature fails are left out.' },
    ],
    examples: [
      { line: 'chancery agent find llm:chat', summary: 'The 50 newest.' },
      { line: 'chancery agent find llm:chat --all --card --json', summary: 'All, as cards, for a program.' },
    ],
    needs: 'nothing',
  },
  {
    path: ['agent', 'show'],
    summary: 'Show one agent',
    description: 'Prints the registration of one node key and checks its signature.',
    arguments: [{ name: 'key', summary: 'Public key of the node: a .pub file or base64.', required: true }],
    options: [NODE_HOME_OPTION],
    examples: [{ line: 'chancery agent show ./node/node.pub', summary: 'What others see of this node.' }],
    needs: 'nothing',
  },
  {
    path: ['agent', 'withdraw'],
    summary: 'Withdraw an agent',
    description: 'Takes the agent of a node out of the registry at once.',
    arguments: [],
    options: [NODE_HOME_OPTION],
    examples: [{ line: 'chancery agent withdraw --home ./node', summary: 'Before it goes away.' }],
    needs: 'node',
  },
]
