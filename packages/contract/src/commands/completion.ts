import type { Command } from './command.ts'

export const completionCommands: readonly Command[] = [
  {
    path: ['completion'],
    summary: 'Print shell completion',
    description: 'Prints a script that completes commands and flags in a shell.',
    arguments: [
      { name: 'shell', summary: 'The shell to complete in.', required: true, choices: ['bash', 'zsh', 'fish'] },
    ],
    options: [],
    examples: [{ line: 'chancery completion bash', summary: 'The script on standard output.' }],
    needs: 'nothing',
  },
]
