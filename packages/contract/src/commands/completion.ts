import type { Command } from './command.ts'

export const completionCommands: readonly Command[] = [
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
