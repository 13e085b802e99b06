import react from '@vitejs/plugin-react'
import { defineConfig } from 'vitest/config'

/** While the page is worked on, a platform that runs answers what the page asks. */
const platform = process.env['SLUICE_URL'] ?? 'http://127.0.0.1:8080'

export default defineConfig({
  plugins: [react()],
  // Nothing is written into the page: its policy allows files of its own alone.
  build: { assetsInlineLimit: 0, modulePreload: { polyfill: false }, chunkSizeWarningLimit: 900 },
  server: { host: '127.0.0.1', proxy: { '^/(v1|v2|docs|openapi.json|health|ready)': platform } },
  test: { include: ['src/**/*.test.ts'] },
})
