import type { InlineConfig } from 'vite'

/** What all scripts of the console are built with. No file of the folder and no variable of the environment changes it. */
export const CONSOLE_SETTINGS = {
  configFile: false,
  envDir: false,
  logLevel: 'warn',
  publicDir: false,
  // By default these depend on NODE_ENV, and in development the paths of the sources are in the script.
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact', development: false } },
  define: { 'process.env.NODE_ENV': '"production"' },
  resolve: { conditions: ['development', 'browser', 'module'] },
} as const satisfies InlineConfig
