import { satteri } from '@astrojs/markdown-satteri'
import starlight from '@astrojs/starlight'
import { defineConfig } from 'astro/config'
import { redirects } from './redirects.mjs'
import { ranking } from './search.mjs'
import { sidebar } from './sidebar.mjs'
import { themeStyles } from './theme.mjs'

// Below which address the site is served, for example /chancery/docs.
const base = process.env['CHANCERY_DOCS_BASE'] ?? '/'

/** A folder of files that any server can serve, without the network: search, fonts and drawings are inside it. */
export default defineConfig({
  base,
  trailingSlash: 'always',
  redirects: redirects(base),
  // Hyphens and quotes in commands must stay as they are.
  markdown: { processor: satteri({ features: { smartPunctuation: false } }) },
  devToolbar: { enabled: false },
  integrations: [
    // The site has no fixed address, so it has no sitemap. Starlight adds its own sitemap unless one is named.
    { name: '@astrojs/sitemap', hooks: {} },
    starlight({
      title: 'Chancery',
      description: 'Certificates, treaties, decisions and evidence between networks of machines.',
      // The logo of the console, before the title.
      logo: { src: '../apps/console/static/logo.svg', alt: '' },
      head: [{ tag: 'style', content: themeStyles() }],
      pagefind: { ranking },
      customCss: ['./src/styles/site.css'],
      favicon: '/favicon.svg',
      // The page for a wrong address is one of ours (src/pages/404.astro).
      disable404Route: true,
      lastUpdated: false,
      pagination: true,
      tableOfContents: { minHeadingLevel: 2, maxHeadingLevel: 3 },
      markdown: { processedDirs: ['..'] },
      sidebar,
    }),
  ],
})
