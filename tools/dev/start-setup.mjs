/**
 * `npm run setup` begins here, in JavaScript that every Node.js reads: an older one cannot read TypeScript and would end
 * with a message about file extensions.
 */
import { existsSync } from 'node:fs'

const root = new URL('../../', import.meta.url)
const isInstalled = existsSync(new URL('node_modules/typescript/package.json', root))

if (!isInstalled) {
  console.error('The packages are not installed. Run: npm ci')
  if (process.platform !== 'linux' || !['x64', 'arm64'].includes(process.arch))
    console.error(
      `The workspace brings Node.js for Linux on x64 and arm64, and this is ${process.platform} on ${process.arch}. ` +
        'Install Node.js 26.5 or later, or use the dev container in .devcontainer (CONTRIBUTING.md, First steps).',
    )
  process.exitCode = 1
} else if (!process.features.typescript) {
  console.error(
    `Node.js ${process.versions.node} cannot read TypeScript; 24.19 or 26.5 is needed. ` +
      'npm ci brings it, and npm scripts use it: run npm ci, then npm run setup.',
  )
  process.exitCode = 1
} else {
  const { main } = await import('./setup.ts')
  process.exitCode = await main(process.argv.slice(2))
}
