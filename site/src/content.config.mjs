import { docsSchema, i18nSchema } from '@astrojs/starlight/schema'
import { defineCollection } from 'astro:content'
import { docsInPlace } from './docs-in-place.mjs'

export const collections = {
  docs: defineCollection({ loader: docsInPlace(), schema: docsSchema() }),
  // Words of the page frame that we say otherwise than the theme does.
  i18n: defineCollection({
    loader: () => [{ id: 'en', 'search.label': 'Search (offline)' }],
    schema: i18nSchema(),
  }),
}
