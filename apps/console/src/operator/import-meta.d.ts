/** What vite replaces at build time: one loader per file that matches. */
interface ImportMeta {
  glob<Module>(pattern: string): Readonly<Record<string, () => Promise<Module>>>
}
